package valkey

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/slot"
)

// NativeEnqueue is the server's own command for the verb enqueue.
const NativeEnqueue = "EMQ.ENQUEUE"

// Run runs calls and returns what came of each, in order. The calls of one
// node are pipelined in their order; between nodes of a cluster, and after a
// redirection, there is none. Every Err of an outcome is an [*Error].
func (c *Client) Run(ctx context.Context, calls []executor.Call) []executor.Outcome {
	outcomes, _ := c.RunHeld(ctx, calls)
	return outcomes
}

// RunHeld is Run that also tells, for each call, the fence that was read for
// the connection that it went on, or was to go on: nil where there was none,
// and for all without [Client.HoldFence]. A call that the fence stopped has
// failed, by an error of kind fence.
func (c *Client) RunHeld(ctx context.Context, calls []executor.Call) ([]executor.Outcome, []*Fence) {
	requests := newRequests(calls)
	c.roundtrip(ctx, requests)
	outcomes, fences := make([]executor.Outcome, len(calls)), make([]*Fence, len(calls))
	for i, r := range requests {
		outcomes[i], fences[i] = c.outcome(r), r.fence
	}
	return outcomes, fences
}

// newRequests makes the requests of calls. They are thousands at a time, and
// share what is allocated.
func newRequests(calls []executor.Call) []*request {
	total := 0
	for _, call := range calls {
		total += 3 + len(call.Keys) + len(call.Args)
	}
	args := make([]string, 0, total)
	all := make([]request, len(calls))
	requests := make([]*request, len(calls))
	for i, call := range calls {
		r := &all[i]
		*r = request{keys: call.Keys, slot: -1, call: true}
		from := len(args)
		if call.Native {
			args = append(args, NativeEnqueue)
		} else {
			r.verb = call.Verb
			args = append(args, "EVALSHA", call.Verb.SHA1)
		}
		args = append(args, strconv.Itoa(len(call.Keys)))
		args = append(append(args, call.Keys...), call.Args...)
		r.args = args[from:len(args):len(args)]
		if len(call.Keys) > 0 {
			r.slot = int(slot.Of(call.Keys[0]))
		}
		requests[i] = r
	}
	return requests
}

// outcome judges the final answer to a call.
func (c *Client) outcome(r *request) executor.Outcome {
	a := r.answer
	switch {
	case a.err != nil && a.sent:
		return executor.Outcome{State: executor.Unknown, Err: a.err}
	case a.err != nil:
		return executor.Outcome{State: executor.Failed, Err: a.err}
	case a.text == "":
		return executor.Outcome{State: executor.Replied, Reply: a.reply}
	}
	switch verdict := judge(r); verdict {
	case executor.Unknown:
		what := "script"
		if r.verb == nil {
			what = "command"
		}
		return executor.Outcome{State: verdict, Err: &Error{
			Kind: KindPartial, Addr: r.at, Msg: c.serverError(r.at, a.text, r.keys).Msg + "; the " + what + " had begun, and what it had written stays",
		}}
	case executor.Failed:
		err := c.serverError(r.at, a.text, r.keys)
		if r.verb == nil && strings.HasPrefix(a.text, "ERR unknown command") {
			err.Msg, err.Hint = r.at+": the server has no "+NativeEnqueue+": "+err.Msg[len(r.at)+2:], "--via script runs the script instead, and --via auto the one that there is"
		}
		return executor.Outcome{State: verdict, Err: err}
	}
	return executor.Outcome{State: executor.Refused, Text: a.text}
}

// refusals of the server itself, which come before a script or a write of it.
var serverWords = []string{
	"NOPERM", "NOAUTH", "READONLY", "OOM", "BUSY", "UNKILLABLE", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS",
	"CLUSTERDOWN", "CROSSSLOT", "TRYAGAIN", "MOVED", "ASK", "NOSCRIPT", "NOPROTO", "DENIED",
}

// writeWords are those with which the server refuses a write of a script that
// has not yet written, and no later one.
var writeWords = []string{"READONLY", "OOM", "MISCONF", "NOREPLICAS"}

// scriptLine finds where in a script the server's error came up: " script:
// 59af..., on @user_script:29."
var scriptLine = pattern(` script: \S+, on @user_script:(\d+)\.$`)

// Servers before 7, and some others still, put it first: "ERR Error running
// script (call to f_59af...): @user_script:29: WRONGTYPE ...". What comes in
// between may be @enable_strict_lua:8.
const olderError = "ERR Error running script"

var olderLine = pattern(`^` + olderError + `[^:]*: (?:@\w+: ?\d+: )?@?user_script: ?(\d+):`)

// judge tells what an error reply says of the call: refused by the verb,
// failed because it did not run, or unknown because it ran in part.
func judge(r *request) executor.State {
	word, _, _ := strings.Cut(r.answer.text, " ")
	if strings.HasPrefix(word, "EMQ") {
		return executor.Refused
	}
	at := scriptLine().FindStringSubmatch(r.answer.text)
	older := strings.HasPrefix(r.answer.text, olderError)
	if older {
		// The server's word for what happened comes later, if at all.
		at, word = olderLine().FindStringSubmatch(r.answer.text), ""
	}
	switch {
	case r.verb == nil && older:
		return executor.Unknown // whatever ran there may have written
	case r.verb == nil:
		// The native command checks before it writes. What it says is its
		// refusal, unless it is the server that does not run it.
		if slices.Contains(serverWords, word) || strings.HasPrefix(r.answer.text, "ERR unknown command") {
			return executor.Failed
		}
		return executor.Refused
	case at != nil && slices.Contains(writeWords, word):
		return executor.Failed
	case at != nil:
		if line, err := strconv.Atoi(at[1]); err == nil && !mayHaveWritten(r.verb.Source, line) {
			return executor.Failed
		}
		return executor.Unknown
	case older, word == "WRONGTYPE":
		return executor.Unknown // in the script, at a place that is not told
	case slices.Contains(serverWords, word), word == "ERR":
		return executor.Failed
	}
	return executor.Refused
}

// pattern is compiled when it is first used, which is in an error only.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	callName = pattern(`\b(?:redis|server)\.p?call\(\s*(?:'(\w+)'|"(\w+)")`)
	harmless = pattern(`\b(?:redis|server)\.(?:error_reply|status_reply|sha1hex|log|LOG_\w+)\b`)
	handle   = pattern(`\b(?:redis|server)\b`)
	repeats  = pattern(`\b(?:for|while|repeat|function|goto)\b`)
)

// mayHaveWritten tells whether a script can have written something before it
// stopped in a line, from 1. Only a plain script is read, without loops and
// functions up to there and with commands by name; of another the answer is
// yes.
func mayHaveWritten(source string, line int) bool {
	lines := strings.Split(source, "\n")
	for i, text := range lines[:min(line, len(lines))] {
		text, _, _ = strings.Cut(text, "--")
		if repeats().MatchString(text) {
			return true
		}
		if i+1 == line {
			break
		}
		for _, m := range callName().FindAllStringSubmatch(text, -1) {
			if !slices.Contains(reads, strings.ToUpper(m[1]+m[2])) {
				return true
			}
		}
		text = harmless().ReplaceAllString(callName().ReplaceAllString(text, ""), "")
		if handle().MatchString(text) {
			return true
		}
	}
	return false
}
