package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/trace"
)

// newHelpTopics returns the pages of `emqctl help TOPIC`: commands that do not
// run. What they list is made from where the program has it.
func newHelpTopics() []*cobra.Command {
	topic := func(name, short, long string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: strings.TrimSpace(long)}
	}
	return []*cobra.Command{
		topic("exit-codes", "What the exit codes mean", exitCodesHelp()),
		topic("output", "What text, json, tsv and --format show", outputHelp),
		topic("environment", "The variables that are read", environmentHelp),
		topic("address", "The forms of --url, and what goes before what", addressHelp),
		topic("grammar", "The key grammar and its types", grammarHelp()),
		topic("law", "The law of declared keys, and what lint finds", lawHelp()),
		topic("findings", "What audit finds, why it matters, what mends it", findingsHelp()),
	}
}

func exitCodesHelp() string {
	var b strings.Builder
	b.WriteString("The exit codes are the same for every command and every format:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %-4d %s\n", c.code, c.about)
		if c.detail != "" {
			fmt.Fprintf(&b, "       %s\n", c.detail)
		}
	}
	b.WriteString(`
In a batch 2 wins over 1, and 1 over 0. Every item still gets its record. Notes
do not change the code unless --strict is given. When the reader of standard
output goes away, as in | head, the command ends quietly with the code of what
it had answered; but a bulk load to a server that stops for it ends with 2.`)
	return b.String()
}

const outputHelp = `
Every item gets one record on standard output, in input order, good or bad.

text, the default, is for people. It is the same on a terminal and in a pipe,
but for colour.

-o json is one compact object a record, one a line. A field is null when it has
no value. Snowflakes are strings: they are beyond 2^53. Times are RFC 3339, UTC,
with milliseconds. A field F whose bytes are not UTF-8 is null, and F_base64
has the bytes. An error is {kind, offset, message, hint}, a note {kind, offset,
message}; kinds are for programs and do not change, messages are for people.
Offsets count bytes from 0.

-o tsv is one record a line, without a header, in the columns that the help of
the command lists. Booleans are true and false, an absent value is -, a value
that is - is \x2d.

--format shows a Go text/template over the JSON record by its field names, as
in --format '{{if eq .slot 3378}}{{.key}} {{.id.time}}{{end}}'. A null prints
nothing, is false to {{if}} and equals nothing. Bytes print escaped; the
function raw gives them as they are, json gives a value as JSON. A field that
the record does not have is refused before anything is read.

Bytes that are not printable are shown as valkey-cli shows them, \xHH \n \r \t
\a \b \\ \", in text and tsv; --escaped reads them back.

Input is operands, or standard input when there is none or the only one is -;
among others a - is an item. A terminal is read only for -. One item is a
line, or ends in NUL with -0. One \r before a newline is dropped in lines. A
line may have 1048576 bytes; a longer one is a record of kind line-length, and
the stream goes on.`

const environmentHelp = `
EMQCTL_URL        the server, for a command that takes --url and is given none
EMQCTL_PASSWORD   its password, unless --password-file or --url has one
EMQCTL_FENCE      the version that its fence has to have, as --fence
NO_COLOR          when set and not empty, no colour unless --color always says so
TERM              dumb: no colour, likewise

A password is never taken from the command line but as part of --url, where
other users of the machine may see it. It is never shown.

A variable that is set but empty counts as one that is not set. A flag that is
given and empty is an error instead.

No other variable changes what emqctl does.`

const addressHelp = `
--url and EMQCTL_URL take an address in one of these forms:

  host  host:port                         port 6379 unless told otherwise
  redis://[[USER][:PASSWORD]@]host[:port][/DB]      valkey:// is the same
  rediss://...                            over TLS; valkeys:// is the same
  unix://[[USER][:PASSWORD]@]/path[?db=N] a unix socket; /path alone too
  [::1]:6379                              IPv6 stands in brackets

User, password, database and the redis:// of a host may be left out in any of
them; ?db=N names the database of any. In user and password write % as %25, and
/ ? # and blanks as %2F %3F %23 and %20. Of a cluster one node is enough: it is
asked for the others, and whether it is a cluster at all.

What is on the command line goes before the environment, and a flag before what
the address says:

  address    --url, EMQCTL_URL
  password   --password-file, one in --url, EMQCTL_PASSWORD, one in EMQCTL_URL
  user       --user, the address
  database   --db, the address, 0
  TLS        --tls, --cacert, --cert, --key, --sni, --insecure: any of them, or
             the address

An address that cannot be meant is refused by the name of the part that is
wrong. No password is ever shown.`

func grammarHelp() string {
	var b strings.Builder
	b.WriteString("A key is emq:{<queue>}:<suffix>, or {emq}:<suffix> in the reserve. The types,\nwhat the store holds under them, and their keys:\n\n")
	for _, info := range decode.Types() {
		store := info.Store
		if store == "" {
			store = "-"
		}
		fmt.Fprintf(&b, "  %-17s %-8s %s\n  %-17s %-8s %s\n", info.Word, store, info.Key(), "", "", info.Role)
	}
	b.WriteString(`
<id> is a branded id, 14 bytes: three letters A-Z, then 11 base62 digits of a
63-bit snowflake. <metric> is completed or failed. Every other name is any
bytes.

A key that breaks the grammar is malformed, with one of these kinds, at the
first wrong byte:

`)
	for _, k := range decode.Kinds() {
		fmt.Fprintf(&b, "  %-12s %s\n", k.Kind, k.About)
	}
	b.WriteString("\nA sound key may carry notes:\n\n")
	for _, k := range append(decode.NoteKinds(), decode.KindInfo{Kind: noteStoreType, About: "with --url: a TYPE that is not the grammar's"}) {
		fmt.Fprintf(&b, "  %-18s %s\n", k.Kind, k.About)
	}
	return b.String()
}

func lawHelp() string {
	var b strings.Builder
	b.WriteString(`A script passes the keys that it touches in KEYS[], and values in ARGV.

In full, a key is declared in KEYS[], or derived in the script, by the grammar,
from a declared key or from an argument that carries the same queue: the base
emq:{q}: or the job base emq:{q}:job:. Anything else breaks the law. A cluster
can route a script only by the keys that it declares, and derived ones are safe
only because the queue's braces put them on the same slot.

The strict law is the short form: every key is in KEYS[], and none is derived.

The kinds of findings:

`)
	for _, k := range trace.Kinds() {
		fmt.Fprintf(&b, "  %s\n%s", k.Kind, indent(k.About, 6))
	}
	b.WriteString(`
In a script that declares nothing a key made from ARGV is undeclared. A comment
-- emqctl:allow KIND on the line, or on the line before, allows a finding.`)
	return b.String()
}

// indent wraps a paragraph to the width of a page, n blanks in.
func indent(text string, n int) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(text) {
		if width > 0 && width+1+len(word) <= 78 {
			b.WriteString(" " + word)
			width += 1 + len(word)
			continue
		}
		if width > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat(" ", n) + word)
		width = n + len(word)
	}
	return b.String() + "\n"
}
