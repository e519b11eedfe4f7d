package valkey

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Address is where a server is, and who asks. Its fields are decoded.
type Address struct {
	TLS      bool
	Host     string // a name or an IP, without brackets; empty for a socket
	Port     int    // 1 to 65535
	Socket   string // the path of a unix socket, or empty
	User     string
	Password string
	DB       int // -1 when the address names none
}

// String returns host:port or the path of the socket, and nothing else: no
// user, no password.
func (a Address) String() string {
	if a.Socket != "" {
		return a.Socket
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// DefaultPort is the port of an address that names none.
const DefaultPort = 6379

// ParseAddress reads an address:
//
//	redis://[[user][:password]@]host[:port][/[db]]    also valkey://
//	rediss://...                                      the same over TLS; also valkeys://
//	unix://[[user][:password]@]/path[?db=N]
//	[[user][:password]@]host[:port][/[db]]
//	/path
//
// An IPv6 host stands in brackets. The user and the password are
// percent-encoded where they have one of / ? # or %. A query may name db.
//
// Every refusal is an [*Error] of kind address whose message opens with the
// part that is wrong. It quotes nothing of what was given, because a password
// in the wrong place would be in it.
func ParseAddress(s string) (Address, error) {
	a := Address{DB: -1}
	if s == "" {
		return Address{}, badAddress("address: found nothing, want host:port or redis://host:port", "")
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] == 0x7f {
			return Address{}, badAddress("address: found a blank or control character at byte "+strconv.Itoa(i)+", want none", "in a password write it as %20, or as % and its two hex digits")
		}
	}
	scheme, rest, hasScheme := strings.Cut(s, "://")
	// What looks like a scheme may be the head of a password.
	if !hasScheme || strings.ContainsAny(scheme, ":@/?#") {
		scheme, rest, hasScheme = "", s, false
	}
	unix := false
	switch strings.ToLower(scheme) {
	case "redis", "valkey":
	case "rediss", "valkeys":
		a.TLS = true
	case "unix":
		unix = true
	default:
		if hasScheme {
			return Address{}, badScheme(scheme)
		}
		unix = strings.HasPrefix(s, "/")
	}
	// The authority ends at the first of these, so what stands unencoded in a
	// password cuts it short, and the @ comes too late.
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	host := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		// u:a@h1,u:b@h2 is two hosts, and no password of one.
		if at := strings.IndexByte(authority[:i], '@'); at >= 0 && strings.Contains(authority[at:i], ",") {
			return Address{}, badAddress("host: found a comma between two @, want one node", "of a cluster one node is enough: it is asked for the others; in a password write @ as %40 and , as %2C")
		}
		if err := a.userinfo(authority[:i]); err != nil {
			return Address{}, err
		}
		host = authority[i+1:]
	} else if strings.Contains(tail, "@") && (!unix || authority != "") {
		return Address{}, badAddress("password: found an unencoded / ? or # before the @, want it percent-encoded", "write / as %2F, ? as %3F, # as %23, or give the password by --password-file")
	}
	path, _, hasFragment := strings.Cut(tail, "#")
	if hasFragment {
		return Address{}, badAddress("address: found a #, want the address to end before it", "in a password write # as %23")
	}
	path, query, _ := strings.Cut(path, "?")
	if err := a.query(query); err != nil {
		return Address{}, err
	}
	if unix {
		if host != "" {
			return Address{}, badAddress("socket: found a host before the path, want three slashes: unix:///path", "")
		}
		p, err := url.PathUnescape(path)
		if err != nil {
			return Address{}, badAddress("socket: found a % that is not followed by two hex digits, want %25 for a % itself", "")
		}
		if p == "" || p == "/" {
			return Address{}, badAddress("socket: found no path, want unix:///path/to/valkey.sock", "")
		}
		a.Socket = p
		return a, nil
	}
	if err := a.hostPort(host); err != nil {
		return Address{}, err
	}
	if path = strings.TrimPrefix(path, "/"); path != "" {
		if err := a.db(strings.TrimSuffix(path, "/"), "path"); err != nil {
			return Address{}, err
		}
	}
	return a, nil
}

func badAddress(msg, hint string) *Error { return &Error{Kind: KindAddress, Msg: msg, Hint: hint} }

func badScheme(scheme string) *Error {
	const want = "want redis, rediss, valkey, valkeys or unix"
	switch s := strings.ToLower(scheme); s {
	case "http", "https":
		return badAddress("scheme: found "+s+", "+want, "that is a web address; the server speaks its own protocol, on port 6379 unless told otherwise")
	case "tls", "ssl":
		return badAddress("scheme: found "+s+", "+want, "TLS is rediss:// or valkeys://, or --tls")
	case "tcp", "redis-socket", "redis+socket", "rediss+cluster", "redis+cluster", "redis-sentinel", "redis+sentinel", "amqp", "postgres", "mysql", "file":
		return badAddress("scheme: found "+s+", "+want, "")
	case "":
		return badAddress("scheme: found nothing before ://, "+want, "")
	}
	return badAddress("scheme: found another word, "+want, "")
}

// userinfo reads what stands before the @.
func (a *Address) userinfo(s string) *Error {
	user, password, _ := strings.Cut(s, ":")
	var err error
	if a.User, err = url.PathUnescape(user); err != nil {
		return badAddress("user: found a % that is not followed by two hex digits, want %25 for a % itself", "")
	}
	if a.Password, err = url.PathUnescape(password); err != nil {
		return badAddress("password: found a % that is not followed by two hex digits, want %25 for a % itself", "")
	}
	return nil
}

func (a *Address) query(s string) *Error {
	if s == "" {
		return nil
	}
	for _, pair := range strings.Split(s, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name != "db" {
			return badAddress("query: found a name that is not db, want ?db=N or no query", "TLS files, the user and time-outs have flags of their own")
		}
		if err := a.db(value, "query"); err != nil {
			return err
		}
	}
	return nil
}

func (a *Address) db(s, where string) *Error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return badAddress("database: found no number in the "+where+", want 0, 1, 2 and so on", "")
	}
	if a.DB >= 0 && a.DB != int(n) {
		return badAddress("database: found two numbers, want one", "")
	}
	a.DB = int(n)
	return nil
}

func (a *Address) hostPort(s string) *Error {
	if strings.Contains(s, ",") {
		return badAddress("host: found a comma, want one node", "of a cluster one node is enough: it is asked for the others")
	}
	host, port, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return badAddress("host: found [ without ], want an IPv6 address in brackets", "")
		}
		ip, err := netip.ParseAddr(s[1:end])
		if err != nil || !ip.Is6() {
			return badAddress("host: found no IPv6 address in the brackets, want one", "")
		}
		host, port = s[1:end], s[end+1:]
		if port != "" {
			if port[0] != ':' {
				return badAddress("host: found more after ], want :port or nothing", "")
			}
			port, hasPort = port[1:], true
		}
	} else {
		if strings.Count(s, ":") > 1 {
			return badAddress("host: found several colons, want host:port", "an IPv6 address stands in brackets, as in [::1]:6379; a password stands before an @")
		}
		host, port, hasPort = strings.Cut(s, ":")
	}
	if host == "" {
		return badAddress("host: found nothing, want a name or an IP address", "")
	}
	for i := 0; i < len(host); i++ {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c >= 0x80, strings.IndexByte("-._:%", c) >= 0:
		default:
			return badAddress("host: found a character that no host has, want letters, digits, dots and hyphens", "")
		}
	}
	a.Host, a.Port = host, DefaultPort
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			// What is no number may be a password.
			found := "something else"
			switch {
			case port == "":
				found = "nothing after the colon"
			case len(port) <= len("6379")+3 && strings.Trim(port, "0123456789") == "":
				found = port
			}
			return badAddress("port: found "+found+", want a number from 1 to 65535", "a password stands before an @, as in redis://:password@host")
		}
		a.Port = int(n)
	}
	return nil
}
