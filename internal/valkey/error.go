package valkey

// Kind says what went wrong, for programs.
type Kind string

const (
	KindAddress     Kind = "address"     // the address cannot be meant
	KindFile        Kind = "file"        // a certificate or key file cannot be used
	KindHost        Kind = "host"        // the host name is not known
	KindRefused     Kind = "refused"     // nothing listens there
	KindUnreachable Kind = "unreachable" // no way to the host
	KindSocket      Kind = "socket"      // no unix socket there, or no right to it
	KindTimeout     Kind = "timeout"     // no answer in time
	KindCut         Kind = "cut"         // the connection ended
	KindHTTP        Kind = "http"        // a web server answered
	KindProtocol    Kind = "protocol"    // something else than Valkey answered
	KindTLS         Kind = "tls"         // TLS on one side only, or no agreement
	KindCertificate Kind = "certificate" // a certificate was refused, by us or by the server
	KindAuth        Kind = "auth"        // the password or user is wrong, or wanted
	KindPermission  Kind = "permission"  // the user may not run a command or touch a key
	KindDatabase    Kind = "database"    // there is no such database
	KindSentinel    Kind = "sentinel"    // a sentinel answered, which holds no keys
	KindCluster     Kind = "cluster"     // not a cluster, a cluster that is down, or keys of several slots
	KindReadOnly    Kind = "read-only"   // a replica refuses writes
	KindMemory      Kind = "memory"      // the server is out of memory
	KindBusy        Kind = "busy"        // a script keeps the server busy, or it has too many clients
	KindLoading     Kind = "loading"     // the server is reading its data
	KindMisconf     Kind = "misconf"     // the server stopped writes: its snapshots or replicas fail
	KindScript      Kind = "script"      // a script is not kept, or is another than ours
	KindPartial     Kind = "partial"     // a script ended in an error after it may have written
	KindFence       Kind = "fence"       // the version fence is not the one wanted
	KindServer      Kind = "server"      // another error of the server's
	KindCanceled    Kind = "canceled"    // the caller gave up
	KindClosed      Kind = "closed"      // the client is closed
)

// Error is the only error type of this package.
type Error struct {
	Kind Kind
	Addr string // host:port or the path of a socket; empty for an address that cannot be meant
	Msg  string // what was found and what was wanted, Addr included
	Hint string // what to do, or empty
}

func (e *Error) Error() string { return e.Msg }
