package valkey

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/echomq/emqctl/internal/slot"
)

// Read is one command that reads, for the owner of the slot of a key.
type Read struct {
	Key  string
	Args []string
}

// Reply is the answer to a [Read].
type Reply struct {
	Value any    // as [Client.Do] gives it
	Err   error  // an [*Error], when there is no value
	Text  string // the server's own error, class word first, when it answered with one
}

// ReadAll sends commands that read, those of each node in one go, and returns
// their replies in order. A command that could write panics.
func (c *Client) ReadAll(ctx context.Context, reads []Read) []Reply {
	if len(reads) == 0 {
		return nil
	}
	replies := make([]Reply, len(reads))
	if !c.cluster { // there is nowhere else to go
		addr, commands := c.Addr(), make([][]string, len(reads))
		for i, r := range reads {
			mustRead(r.Args)
			commands[i] = r.Args
		}
		for i, a := range c.node(addr).exchange(ctx, commands) {
			replies[i] = c.readReply(a, addr, reads[i].Key)
		}
		return replies
	}
	requests := make([]*request, len(reads))
	for i, r := range reads {
		mustRead(r.Args)
		requests[i] = &request{args: r.Args, slot: int(slot.Of(r.Key))}
	}
	c.roundtrip(ctx, requests)
	for i, r := range requests {
		replies[i] = c.readReply(r.answer, r.at, reads[i].Key)
	}
	return replies
}

func (c *Client) readReply(a answer, addr, key string) Reply {
	switch {
	case a.err != nil:
		return Reply{Err: a.err}
	case a.text != "":
		return Reply{Err: c.serverError(addr, a.text, []string{key}), Text: a.text}
	}
	return Reply{Value: a.reply}
}

// ErrApart says that reads could not be made at one instant: the user may not
// use transactions, or the slot is moving to another node.
var ErrApart = errors.New("the reads could not be made in one transaction")

// ReadAtOnce sends commands that read keys of one slot as a transaction, so
// that all replies are of one instant. Its error is [ErrApart], or an
// [*Error].
func (c *Client) ReadAtOnce(ctx context.Context, key string, reads []Read) ([]Reply, error) {
	commands := make([][]string, 0, len(reads)+2)
	commands = append(commands, []string{"MULTI"})
	for _, r := range reads {
		mustRead(r.Args)
		commands = append(commands, r.Args)
	}
	commands = append(commands, []string{"EXEC"})
	for try := 0; ; try++ {
		addr := c.target(&request{slot: int(slot.Of(key))})
		answers := c.node(addr).exchange(ctx, commands)
		moved := false
		for _, a := range answers {
			switch word, _, _ := strings.Cut(a.text, " "); {
			case a.err != nil:
				return nil, a.err
			case word == "MOVED" && try < maxRedirects:
				if _, s, to, ok := redirection(a.text, addr); ok {
					c.keep(map[int]string{s: to})
					moved = true
				}
			}
		}
		if moved {
			continue
		}
		if answers[0].text != "" || answers[len(answers)-1].text != "" {
			return nil, ErrApart
		}
		list, ok := answers[len(answers)-1].reply.([]any)
		if !ok || len(list) != len(reads) {
			return nil, ErrApart
		}
		replies := make([]Reply, len(reads))
		for i, v := range list {
			a := answer{reply: v}
			if e, ok := v.(nestedError); ok {
				a = answer{text: string(e)}
			}
			replies[i] = c.readReply(a, addr, reads[i].Key)
		}
		return replies, nil
	}
}

// nestedError is an error reply inside an array, as EXEC gives them.
type nestedError string

// asNestedError reads a message that is an error and not null.
func asNestedError(m rueidis.RedisMessage) (nestedError, bool) {
	if err := m.Error(); err == nil || rueidis.IsRedisNil(err) {
		return "", false
	}
	text, _ := m.ToString()
	return nestedError(text), true
}

func mustRead(args []string) {
	if !isRead(args) {
		panic(fmt.Sprintf("valkey: %q is not among the commands that only read", args))
	}
}
