package main

import (
	"context"
	"math/big"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
)

type encodeIDOptions struct {
	inputOptions
	Namespace  string
	Snowflakes []string
}

func newEncodeIDCmd(e *env) *cobra.Command {
	var opts encodeIDOptions
	cmd := &cobra.Command{
		Use:   "encode-id NAMESPACE SNOWFLAKE...",
		Short: "Write the branded ids of snowflakes",
		Long: `Write snowflakes, decimal numbers from 0 to 9223372036854775807, as branded ids
under a namespace of three letters. Text is the bare ids, one a line, and for
one that is refused its error, in lines of its own; -o json, -o tsv and
--format show what decode-id shows of each, with error for one that is refused.
Without snowflakes, or with the operand -, they are read from standard input.

Columns of -o tsv: ` + idColumns,
		Example: `  emqctl encode-id JOB 274557032793636864
  emqctl encode-id -o json USR 0 9223372036854775807`,
		Args: operands(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Namespace, opts.Snowflakes = args[0], args[1:]
			return runEncodeID(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	opts.flags(cmd)
	return cmd
}

func runEncodeID(ctx context.Context, e *env, opts encodeIDOptions) error {
	if err := checkNamespace(opts.Namespace, opts.Snowflakes); err != nil {
		return err
	}
	opts.Bare = true
	newRecord := func() answerer { return &encodedIDRecord{namespace: opts.Namespace} }
	return e.answerInput(ctx, opts.inputOptions, opts.Snowflakes, newRecord, nil)
}

// checkNamespace refuses an operand NAMESPACE, and sees operands given the
// wrong way round.
func checkNamespace(namespace string, rest []string) error {
	_, err := brandedid.New(namespace, 0)
	if err == nil {
		return nil
	}
	u := &usageError{msg: "NAMESPACE is " + quote(namespace) + ": " + err.Error()}
	if upper := strings.ToUpper(namespace); upper != namespace && checkNamespace(upper, nil) == nil {
		u.hint = "namespaces are upper case: " + upper
	} else if _, err := brandedid.Parse(namespace); err == nil {
		u.hint = "that is an id already: decode-id reads it"
	} else if len(rest) > 0 && checkNamespace(rest[0], nil) == nil {
		u.hint = "the namespace comes first"
	}
	return u
}

// encodedIDRecord is the answer to a snowflake: an idRecord with an error of
// its own, whose text is the bare id.
type encodedIDRecord struct {
	idRecord
	namespace string
	given     string
	bad       *problem
}

func (r *encodedIDRecord) read(it item, now time.Time) {
	r.given, r.bad = it.text, it.bad
	r.idRecord.notes = r.idRecord.notes[:0]
	if r.bad == nil {
		var n uint64
		if n, r.bad = parseSnowflake(it.text); r.bad == nil {
			id, _ := brandedid.New(r.namespace, n)
			r.idRecord.read(item{text: id.String()}, now)
		}
	}
}

// parseSnowflake reads a decimal number of 63 bits.
func parseSnowflake(s string) (uint64, *problem) {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			hint := ""
			if _, err := brandedid.Parse(s); err == nil {
				hint = "that is an id already: decode-id reads it"
			}
			return 0, newProblem("snowflake", i, "found "+escape.Byte(s[i])+", want decimal digits", hint)
		}
	}
	if s == "" {
		return 0, newProblem("snowflake", 0, "found the end, want decimal digits", "")
	}
	if digits := strings.TrimLeft(s, "0"); len(digits) <= 19 {
		if n, ok := new(big.Int).SetString(s, 10); ok && n.BitLen() <= 63 {
			return n.Uint64(), nil
		}
	}
	return 0, newProblem(string(brandedid.Range), 0, "snowflake is beyond 2^63-1, 9223372036854775807", "")
}

func (r *encodedIDRecord) verdict() verdict {
	if r.bad != nil {
		return verdictNo
	}
	return r.idRecord.verdict()
}

type encodedIDContract struct {
	idContract
	SnowflakeBase64 *string  `json:"snowflake_base64,omitempty"` // of one that is refused
	Error           *problem `json:"error"`
}

func (r *encodedIDRecord) contract() any { return encodedIDContract{} }

func (r *encodedIDRecord) appendJSON(dst []byte) []byte {
	if r.bad == nil {
		dst = r.idRecord.appendJSON(dst)
		return append(dst[:len(dst)-1], `,"error":null}`...)
	}
	dst = append(dst, `{"id":null,"ok":false`...)
	dst = appendField(dst, `,"namespace":`, r.namespace, true)
	dst = appendNullable(dst, `,"snowflake":`, r.given, r.given != "" || r.bad.Kind != "line-length", false)
	dst = append(dst, `,"unix_ms":null,"time":null,"node":null,"seq":null,"hash32":null,"host":null,"wire":null,"notes":[],"error":`...)
	return append(appendProblem(dst, r.bad), '}')
}

func (r *encodedIDRecord) appendTSV(dst []byte) []byte {
	if r.bad == nil {
		return r.idRecord.appendTSV(dst)
	}
	dst = append(dst, "false\t"+r.namespace+"\t"...)
	dst = appendOptional(dst, r.given, r.given != "" || r.bad.Kind != "line-length", false)
	return append(dst, "\t-\t-\t-\t-\t-"...)
}

func (r *encodedIDRecord) appendText(p *page) {
	if r.bad != nil {
		p.problem("snowflake", r.given, r.bad)
		return
	}
	p.str(r.item.text).end()
}
