package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
)

type idRangeOptions struct {
	Namespace string
	From, To  string
	ToGiven   bool
}

func newIDRangeCmd(e *env) *cobra.Command {
	var opts idRangeOptions
	cmd := &cobra.Command{
		Use:   "id-range [NAMESPACE]",
		Short: "Bound the ids minted in a window of time",
		Long: `Give the lowest and the highest id that a namespace, JOB when none is given, can
have from one time to another, both inclusive and to the millisecond. Byte
order is mint order, so the two are the bounds of a BYLEX range: they are given
ready for ZRANGE.

` + timeHelp + `
The window ends now unless --to says otherwise.

Columns of -o tsv: namespace from to lowest highest min max`,
		Example: `  emqctl id-range --from 2026-01-27T15:11:37.641Z --to 2026-01-27T15:11:37.641Z
  emqctl id-range USR --from 2026-01-01 --to 2026-02-01 -o json`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Namespace = brandedid.JobNamespace
			if len(args) > 0 {
				opts.Namespace = args[0]
			}
			opts.ToGiven = cmd.Flags().Changed("to")
			return runIDRange(e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.From, "from", "", "where the window begins, a TIME; required")
	f.StringVar(&opts.To, "to", "", "where it ends, a TIME (default now)")
	return cmd
}

func runIDRange(e *env, opts idRangeOptions) error {
	if err := checkNamespace(opts.Namespace, nil); err != nil {
		return err
	}
	if opts.From == "" {
		return &usageError{msg: "--from is missing, want where the window begins", hint: "as in --from 15m, or --from 2026-01-27T15:00:00Z"}
	}
	now := e.now()
	from, err := parseTime("--from", opts.From, now)
	if err != nil {
		return err
	}
	to := now
	if opts.ToGiven {
		if to, err = parseTime("--to", opts.To, now); err != nil {
			return err
		}
	}
	lowest, highest, err := brandedid.Window(opts.Namespace, from, to)
	if err != nil {
		return badWindow(err, from, to, opts.From, opts.ToGiven)
	}
	return e.emit(idRangeRecord{
		Namespace: opts.Namespace,
		From:      formatTime(from),
		To:        formatTime(to),
		FromMS:    from.UnixMilli(),
		ToMS:      to.UnixMilli(),
		Lowest:    lowest,
		Highest:   highest,
		Min:       "[" + lowest.String(),
		Max:       "[" + highest.String(),
	}, false)
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// idRangeRecord is a window as ids.
type idRangeRecord struct {
	Namespace string       `json:"namespace"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	FromMS    int64        `json:"from_ms"`
	ToMS      int64        `json:"to_ms"`
	Lowest    brandedid.ID `json:"lowest"`
	Highest   brandedid.ID `json:"highest"`
	Min       string       `json:"min"` // a BYLEX bound
	Max       string       `json:"max"`
}

func (r idRangeRecord) verdict() verdict             { return 0 }
func (r idRangeRecord) contract() any                { return r }
func (r idRangeRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r idRangeRecord) appendTSV(dst []byte) []byte {
	for i, s := range []string{r.Namespace, r.From, r.To, r.Lowest.String(), r.Highest.String(), r.Min, r.Max} {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = append(dst, s...)
	}
	return dst
}

func (r idRangeRecord) appendText(p *page) {
	p.label("from").ink(p.paint.time, r.From).about("%s", strconv.FormatInt(r.FromMS, 10)).end()
	p.label("to").ink(p.paint.time, r.To).about("%s", strconv.FormatInt(r.ToMS, 10)).end()
	p.label("lowest").ink(p.paint.main, r.Lowest.String()).end()
	p.label("highest").ink(p.paint.main, r.Highest.String()).end()
	p.label("zrange").str(fmt.Sprintf("ZRANGE 'emq:{q}:pending' '%s' '%s' BYLEX", r.Min, r.Max)).end()
}
