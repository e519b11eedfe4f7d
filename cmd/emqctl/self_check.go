package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/slot"
)

func newSelfCheckCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:    "self-check",
		Hidden: true,
		Short:  "Hold this build to the vectors that a host asserts at boot",
		Long: `Hold this build to the four vectors that the reference host asserts when it
boots, and to the check value of the slot function.`,
		Example: "  emqctl self-check",
		Args:    operands(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return e.emit(selfCheck(), false)
		},
	}
}

// selfCheckRecord tells whether the vectors hold.
type selfCheckRecord struct {
	OK    bool    `json:"ok"`
	Error *string `json:"error"`
}

func selfCheck() selfCheckRecord {
	err := brandedid.SelfCheck()
	const canon, want = "123456789", 12739
	if got := slot.Of(canon); err == nil && got != want {
		err = fmt.Errorf("slot(%q) = %d, want %d", canon, got, want)
	}
	if err != nil {
		msg := err.Error()
		return selfCheckRecord{Error: &msg}
	}
	return selfCheckRecord{OK: true}
}

func (r selfCheckRecord) verdict() verdict {
	if !r.OK {
		return verdictNo
	}
	return 0
}

func (r selfCheckRecord) contract() any                { return r }
func (r selfCheckRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r selfCheckRecord) appendText(p *page) {
	if r.OK {
		p.ink(p.paint.good, "ok").str("  the vectors of the id contract and of the slot function hold").end()
		return
	}
	p.ink(p.paint.bad, "broken").str("  " + *r.Error).end()
}
