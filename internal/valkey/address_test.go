package valkey

import (
	"errors"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	tcp := func(host string, port, db int) Address { return Address{Host: host, Port: port, DB: db} }
	for in, want := range map[string]Address{
		"localhost:6379":                tcp("localhost", 6379, -1),
		"localhost":                     tcp("localhost", 6379, -1),
		"redis":                         tcp("redis", 6379, -1),
		"redis:7000":                    tcp("redis", 7000, -1),
		"redis://h:6379/":               tcp("h", 6379, -1),
		"redis://h:6379":                tcp("h", 6379, -1),
		"REDIS://h/3":                   tcp("h", 6379, 3),
		"valkey://h/3/":                 tcp("h", 6379, 3),
		"h:1/0":                         tcp("h", 1, 0),
		"redis://h?db=4":                tcp("h", 6379, 4),
		"redis://h/4?db=4":              tcp("h", 6379, 4),
		"redis://[::1]:7/2":             tcp("::1", 7, 2),
		"[::1]":                         tcp("::1", 6379, -1),
		"127.0.0.1:65535":               tcp("127.0.0.1", 65535, -1),
		"redis://my_host.svc-1.":        tcp("my_host.svc-1.", 6379, -1),
		"rediss://h":                    {TLS: true, Host: "h", Port: 6379, DB: -1},
		"valkeys://h:1":                 {TLS: true, Host: "h", Port: 1, DB: -1},
		"redis://:p%23w%40@h":           {Host: "h", Port: 6379, Password: "p#w@", DB: -1},
		"redis://u:p@ss:word@h:1/9":     {Host: "h", Port: 1, User: "u", Password: "p@ss:word", DB: 9},
		"redis://u+1:a+b@h":             {Host: "h", Port: 6379, User: "u+1", Password: "a+b", DB: -1},
		"redis://u@h":                   {Host: "h", Port: 6379, User: "u", DB: -1},
		"u:p@h:1":                       {Host: "h", Port: 1, User: "u", Password: "p", DB: -1},
		"unix:///run/valkey.sock":       {Socket: "/run/valkey.sock", DB: -1},
		"unix:///run/a%20b.sock?db=2":   {Socket: "/run/a b.sock", DB: 2},
		"unix://u:p@/run/valkey@1.sock": {Socket: "/run/valkey@1.sock", User: "u", Password: "p", DB: -1},
		"/run/valkey.sock":              {Socket: "/run/valkey.sock", DB: -1},
		"redis://:" + strings.Repeat("x", 500) + "@h": {Host: "h", Port: 6379, Password: strings.Repeat("x", 500), DB: -1},
	} {
		got, err := ParseAddress(in)
		if err != nil || got != want {
			t.Errorf("ParseAddress(%q) = %+v, %v, want %+v", in, got, err, want)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want, hint string }{
		{"empty", "", "address: found nothing", ""},
		{"blank", "redis://h :1", "address: found a blank or control character at byte 9", "%20"},
		{"newline", "h:1\n", "address: found a blank or control character at byte 3", ""},
		{"web", "http://h:6379", "scheme: found http, want redis", "web address"},
		{"tls-scheme", "tls://h", "scheme: found tls, want redis", "rediss://"},
		{"other-scheme", "s3cr3t-word://h", "scheme: found another word", ""},
		{"no-scheme", "://h", "scheme: found nothing", ""},
		{"hash-in-password", "redis://:s3cr3t-word#w@h:6379", "password: found an unencoded / ? or #", "%23"},
		{"slash-in-password", "redis://u:s3cr3t-word/w@h", "password: found an unencoded / ? or #", "%2F"},
		{"question-in-password", "u:s3cr3t-word?w@h", "password: found an unencoded / ? or #", "%3F"},
		{"scheme-in-password", "u:s3cr3t-word://w@h", "password: found an unencoded / ? or #", ""},
		{"percent-in-password", "redis://u:s3cr3t-word%zz@h", "password: found a % that", ""},
		{"percent-in-user", "redis://s3cr3t-word%@h", "user: found a % that", ""},
		{"password-for-port", "redis://u:s3cr3t-word", "port: found something else, want a number from 1 to 65535", "before an @"},
		{"no-host", "redis://", "host: found nothing", ""},
		{"no-host-with-password", "redis://:s3cr3t-word@", "host: found nothing", ""},
		{"several-hosts", "redis://h1:1,h2:2", "host: found a comma, want one node", "one node is enough"},
		{"several-hosts-credentials", "redis://u:s3cr3t@h1:7600,u:s3cr3t@h2:7601", "host: found a comma between two @", "one node is enough"},
		{"several-hosts-bare", "h1,h2", "host: found a comma", ""},
		{"bare-ipv6", "::1", "host: found several colons", "[::1]"},
		{"open-bracket", "[::1", "host: found [ without ]", ""},
		{"name-in-brackets", "[h]:1", "host: found no IPv6 address", ""},
		{"after-bracket", "[::1]1", "host: found more after ]", ""},
		{"host-character", "redis://h$x", "host: found a character", ""},
		{"port-empty", "h:", "port: found nothing after the colon", ""},
		{"port-zero", "h:0", "port: found 0, want a number", ""},
		{"port-high", "h:65536", "port: found 65536, want a number", ""},
		{"database-word", "redis://h/s3cr3t-word", "database: found no number in the path", ""},
		{"database-negative", "redis://h/-1", "database: found no number in the path", ""},
		{"database-query", "redis://h?db=x", "database: found no number in the query", ""},
		{"database-twice", "redis://h/1?db=2", "database: found two numbers", ""},
		{"query", "redis://h?s3cr3t-word=1", "query: found a name that is not db", ""},
		{"fragment", "redis://h#x", "address: found a #", ""},
		{"unix-host", "unix://s3cr3t-word/x", "socket: found a host before the path", ""},
		{"unix-empty", "unix://", "socket: found no path", ""},
		{"unix-percent", "unix:///a%z", "socket: found a %", ""},
	} {
		got, err := ParseAddress(c.in)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindAddress || got != (Address{}) {
			t.Errorf("%s: ParseAddress(%q) = %+v, %v", c.name, c.in, got, err)
			continue
		}
		if !strings.HasPrefix(e.Msg, c.want) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: message %q, hint %q, want %q and %q", c.name, e.Msg, e.Hint, c.want, c.hint)
		}
		if strings.Contains(e.Msg+e.Hint, "s3cr3t") {
			t.Errorf("%s: the secret is in %q, %q", c.name, e.Msg, e.Hint)
		}
	}
}

// FuzzParseAddress holds refusals to quote nothing: an error is the same
// whatever the letters of the password are, and an address that is taken says
// only where the server is.
func FuzzParseAddress(f *testing.F) {
	f.Add("redis://u:", "@h:1/2")
	f.Add("", "@h")
	f.Add("unix://u:", "/x@/y")
	f.Add("redis://:", "#@h")
	f.Fuzz(func(t *testing.T, before, after string) {
		const one, other = "qqqsecretqqq", "zzzhiddenzzz"
		a, err := ParseAddress(before + one + after)
		_, err2 := ParseAddress(before + other + after)
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("%v and %v differ by the password", err, err2)
		}
		if err == nil {
			if a.Socket == "" && (a.Host == "" || a.Port < 1 || a.Port > 65535) {
				t.Fatalf("%+v", a)
			}
			if strings.Contains(a.Password, one) && !strings.Contains(a.Host+a.Socket, one) && strings.Contains(a.String(), one) {
				t.Fatalf("%s has the password", a)
			}
		}
	})
}
