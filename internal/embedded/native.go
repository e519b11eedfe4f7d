package embedded

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/echomq/emqctl/internal/brandedid"
)

// Native is the name of the native command.
const Native = "EMQ.ENQUEUE"

// The refusals of the native command that have no published text.
const (
	own = " (check %, in emqctl's own words: the command's text is not published)"

	ShapeRefusal = "EMQSHAPE the call is not EMQ.ENQUEUE 2 row pending id payload"
	RowRefusal   = "EMQROW KEYS[1] is not the row of the id in the queue of KEYS[2]"
	FenceRefusal = "EMQFENCE {emq}:version is not the version demanded"
)

// ownText says of a refusal which check it was, and whose words it has.
func ownText(refusal, check string) string {
	return refusal + strings.Replace(own, "%", check, 1)
}

// enqueue is EMQ.ENQUEUE.
func (s *Store) enqueue(c *server.Peer, _ string, args []string) {
	if len(args) != 5 || args[0] != "2" {
		c.WriteError(ownText(ShapeRefusal, "1"))
		return
	}
	row, pending, id, payload := args[1], args[2], args[3], args[4]
	base, ok := strings.CutSuffix(pending, "pending")
	if !ok || !isBase(base) || row != base+"job:"+id {
		c.WriteError(ownText(RowRefusal, "2"))
		return
	}
	if version := s.step("GET", FenceKey); s.fence != "" && version != s.fence {
		c.WriteError(ownText(FenceRefusal, "3"))
		return
	}
	if !brandedid.WireAdmits(id) {
		c.WriteError(brandedid.WireRefusal)
		return
	}
	if s.step("EXISTS", row) == int64(1) {
		c.WriteInt(0)
		return
	}
	for _, words := range [][]string{
		{"HSET", row, "state", "pending", "attempts", "0", "payload", payload},
		{"ZADD", pending, "0", id},
	} {
		if err, ok := s.step(words...).(error); ok {
			c.WriteError(err.Error())
			return
		}
	}
	c.WriteInt(1)
}

// isBase reports whether s is emq:{q}: with something for q.
func isBase(s string) bool {
	return strings.HasPrefix(s, "emq:{") && strings.HasSuffix(s, "}:") && len(s) > len("emq:{}:")
}

// step runs one command of the native one, which is then observed.
func (s *Store) step(words ...string) any {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	peer := server.NewPeer(w)
	s.m.Server().Dispatch(peer, words)
	peer.Flush()
	reply, err := server.ParseReply(bufio.NewReader(&b))
	if err != nil {
		return err
	}
	return word(reply)
}
