package valkey

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"github.com/echomq/emqctl/internal/slot"
)

// ErrApart says that reads could not be made at one instant: the user may not
// use transactions, or the slot is moving to another node.
var ErrApart = errors.New("the reads could not be made in one transaction")

// ReadAtOnce sends commands that read keys of one slot as a transaction, so
// that all answers are of one instant. Its error is [ErrApart], or an
// [*Error].
func (c *Client) ReadAtOnce(ctx context.Context, key string, reads []Read) ([]Answer, error) {
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
		answered := make([]Answer, len(reads))
		for i, v := range list {
			a := answer{reply: v}
			if e, ok := v.(nestedError); ok {
				a = answer{text: string(e)}
			}
			answered[i] = c.readAnswer(a, addr, key)
		}
		return answered, nil
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
