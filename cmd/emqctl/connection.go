package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/valkey"
)

// The variables of our own. No unprefixed name is read.
const (
	envURL      = "EMQCTL_URL"
	envPassword = "EMQCTL_PASSWORD"
	envFence    = "EMQCTL_FENCE"
)

// connectionOptions are the flags of the commands that may use a server.
type connectionOptions struct {
	URL          string
	Cluster      bool
	User         string
	PasswordFile string
	TLS          bool
	CACert       string
	Cert         string
	Key          string
	SNI          string
	Insecure     bool
	DB           int // -1: not given
	Timeout      time.Duration

	given func() []string // the names of those that are on the command line
}

func (o *connectionOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "", "the server: host:port, or a redis, rediss, valkey, valkeys or unix URL; see help address")
	f.BoolVar(&o.Cluster, "cluster", false, "require a cluster; without it the server is asked")
	f.StringVar(&o.User, "user", "", "the user, where it is not the default one")
	f.StringVar(&o.PasswordFile, "password-file", "", "a file whose first line is the password")
	f.BoolVar(&o.TLS, "tls", false, "connect over TLS, as the next five mean too")
	f.StringVar(&o.CACert, "cacert", "", "a PEM file: who may have signed the server's certificate")
	f.StringVar(&o.Cert, "cert", "", "a PEM file: our certificate")
	f.StringVar(&o.Key, "key", "", "a PEM file: its key")
	f.StringVar(&o.SNI, "sni", "", "the name that the server's certificate is for")
	f.BoolVar(&o.Insecure, "insecure", false, "take any certificate")
	f.IntVar(&o.DB, "db", -1, "the logical database (default 0)")
	f.Lookup("db").DefValue = "0"
	f.DurationVar(&o.Timeout, "timeout", valkey.DefaultTimeout, "for the whole of connecting, and for each wait for a reply")
	for _, name := range []string{"password-file", "cacert", "cert", "key"} {
		cmd.MarkFlagFilename(name)
	}
	names := []string{"url", "cluster", "user", "password-file", "tls", "cacert", "cert", "key", "sni", "insecure", "db", "timeout"}
	for name, want := range map[string]string{
		"url": "an address", "user": "a user", "password-file": "the name of a file", "sni": "a name",
		"cacert": "the name of a file", "cert": "the name of a file", "key": "the name of a file",
	} {
		wantValue(cmd, name, want)
	}
	o.given = func() []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !f.Changed(n) })
	}
}

// check refuses values that cannot be meant.
func (o *connectionOptions) check() error {
	switch {
	case o.DB < 0 && o.given != nil && slices.Contains(o.given(), "db"):
		return &usageError{msg: "--db is " + strconv.Itoa(o.DB) + ", want 0, 1, 2 and so on"}
	case o.Timeout <= 0:
		return &usageError{msg: "--timeout is " + o.Timeout.String() + ", want more than 0"}
	}
	return nil
}

// address returns the address of the server, from --url or EMQCTL_URL, or
// "" when there is none.
func (o *connectionOptions) address(e *env) string {
	if o.URL != "" {
		return o.URL
	}
	return e.getenv(envURL)
}

// noOperands refuses operands without quoting them: an address may be among
// them, and a password in it.
func noOperands(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{msg: "found an operand, want none", hint: "the server is given by --url"}
	}
	return nil
}

// connect dials the server. It is called once a command knows that it needs
// one.
func (e *env) connect(ctx context.Context, o connectionOptions) (*valkey.Client, error) {
	v, err := e.connection(o)
	if err != nil {
		return nil, err
	}
	c, err := valkey.Open(ctx, v)
	if err != nil {
		return nil, asInterrupt(ctx, err)
	}
	return c, nil
}

// checkConnection refuses what cannot be meant, without dialing: a command
// whose records tell of a server that is down is not begun with such flags.
func (e *env) checkConnection(o connectionOptions) error {
	_, err := e.connection(o)
	return err
}

// connection puts together what flags and environment say of a server.
func (e *env) connection(o connectionOptions) (valkey.Options, error) {
	v := valkey.Options{
		URL:     o.address(e),
		Cluster: o.Cluster, User: o.User,
		TLS: o.TLS, CACert: o.CACert, Cert: o.Cert, Key: o.Key, SNI: o.SNI, Insecure: o.Insecure,
		DB: o.DB, Timeout: o.Timeout,
	}
	if v.URL == "" {
		return v, &usageError{msg: "no address given, want --url or " + envURL, hint: "as in --url localhost:6379"}
	}
	if err := o.check(); err != nil {
		return v, err
	}
	a, err := valkey.ParseAddress(v.URL)
	if err != nil {
		return v, err
	}
	switch {
	case o.PasswordFile != "":
		if v.Password, err = readPassword(o.PasswordFile); err != nil {
			return v, err
		}
	case a.Password == "" || o.URL == "":
		// What stands on the command line goes before what stands in the
		// environment.
		v.Password = e.getenv(envPassword)
	}
	return v, nil
}

// asInterrupt turns what a signal has caused into errInterrupted.
func asInterrupt(ctx context.Context, err error) error {
	var v *valkey.Error
	if ctx.Err() != nil && errors.As(err, &v) && v.Kind == valkey.KindCanceled {
		return errInterrupted
	}
	return err
}

// readPassword reads the first line of a file.
func readPassword(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", &ioError{"reading --password-file", err}
	}
	defer f.Close()
	const limit = 64 << 10
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return "", &ioError{"reading --password-file", err}
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", &usageError{msg: "--password-file: found an empty first line, want the password"}
	}
	return line, nil
}
