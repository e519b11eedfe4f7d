package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/audit"
	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/valkey"
)

// client is a live connection.
type client = *valkey.Client

// auditRecord is a record of audit: a finding, a queue or the server.
type auditRecord struct {
	part any // *auditFinding, *auditQueue or *auditServer
	show func(p *page)
}

const (
	wordFinding = "finding"
	wordQueue   = "queue"
	wordServer  = "server"
)

type auditFinding struct {
	Record      string    `json:"record"`
	Kind        string    `json:"kind"`
	Queue       *string   `json:"queue"` // null when it is of no queue
	QueueBase64 *string   `json:"queue_base64,omitempty"`
	Keys        []*string `json:"keys"`
	KeysBase64  []*string `json:"keys_base64,omitempty"` // beside those of Keys that are not UTF-8
	IDs         []*string `json:"ids"`
	IDsBase64   []*string `json:"ids_base64,omitempty"`
	Detail      string    `json:"detail"`
	Why         string    `json:"why"`
	Mend        string    `json:"mend"`
}

type auditQueue struct {
	Record      string  `json:"record"`
	Queue       *string `json:"queue"`
	QueueBase64 *string `json:"queue_base64,omitempty"`
	auditCounts
}

type auditCounts struct {
	Keys      int64        `json:"key_count"`
	Pending   int64        `json:"pending"`
	Active    int64        `json:"active"`
	Scheduled int64        `json:"scheduled"`
	Dead      int64        `json:"dead"`
	Awaiting  int64        `json:"awaiting_children"`
	Lanes     auditLanes   `json:"lanes"`
	Oldest    *auditOldest `json:"oldest"`
	Orphans   int64        `json:"orphans"`
	Outbox    int64        `json:"outbox"`
	Repeats   int64        `json:"repeats"`
	Streams   int64        `json:"streams"`
	Findings  int64        `json:"findings"`
	Unsettled int64        `json:"unsettled"`
	Complete  bool         `json:"complete"`
	Error     *problem     `json:"error"`
}

type auditLanes struct {
	Count   int64 `json:"count"`
	Pending int64 `json:"pending"`
	Paused  int64 `json:"paused"`
	Full    int64 `json:"full"`
}

type auditOldest struct {
	ID   string `json:"id"`
	Time string `json:"time"`
}

type auditServer struct {
	Record string `json:"record"`
	auditWhole
	Findings  int64 `json:"findings"`
	Unsettled int64 `json:"unsettled"` // suspects that changed at every look
}

type auditWhole struct {
	Fence       *string            `json:"fence"`
	FenceBase64 *string            `json:"fence_base64,omitempty"`
	Fences      []auditFenceRecord `json:"fences"`
	Nodes       []auditNode        `json:"nodes"`
	Covered     auditCovered       `json:"covered"`
	DB          int                `json:"db"`
	Address     string             `json:"address"`
	Server      string             `json:"server"`
	Cluster     bool               `json:"cluster"`
}

type auditFenceRecord struct {
	DB          int      `json:"db"`
	Fence       string   `json:"fence"` // present, absent, unreadable
	Value       *string  `json:"value"`
	ValueBase64 *string  `json:"value_base64,omitempty"`
	Error       *problem `json:"error"`
}

type auditNode struct {
	Address string   `json:"address"`
	Keys    int64    `json:"keys"`
	Covered bool     `json:"covered"`
	Error   *problem `json:"error"`
}

type auditCovered struct {
	Complete bool     `json:"complete"`
	Nodes    int      `json:"nodes"`
	Queues   int64    `json:"queues"`
	Keys     int64    `json:"keys"`
	Error    *problem `json:"error"`
}

// auditContract has every field that a record of audit may have.
type auditContract struct {
	auditFinding
	auditCounts
	auditWhole
}

func (r *auditRecord) verdict() verdict {
	if _, ok := r.part.(*auditFinding); ok {
		return verdictNo
	}
	return 0
}

func (r *auditRecord) contract() any      { return auditContract{} }
func (r *auditRecord) appendText(p *page) { r.show(p) }

func (r *auditRecord) appendJSON(dst []byte) []byte { return marshal(dst, r.part) }

// bytesFields divides bytes as records show them.
func bytesFields(s string) (text, b64 *string) {
	if utf8.ValidString(s) {
		return &s, nil
	}
	b := base64.StdEncoding.EncodeToString([]byte(s))
	return nil, &b
}

func listFields(list []string) (texts, b64s []*string) {
	texts, some := []*string{}, false
	for _, s := range list {
		t, b := bytesFields(s)
		texts, b64s, some = append(texts, t), append(b64s, b), some || b != nil
	}
	if !some {
		b64s = nil
	}
	return texts, b64s
}

func newAuditFinding(f audit.Finding) *auditRecord {
	out := &auditFinding{Record: wordFinding, Kind: string(f.Kind), Detail: f.Detail, Why: f.Why, Mend: f.Mend}
	if f.Queue != "" {
		out.Queue, out.QueueBase64 = bytesFields(f.Queue)
	}
	out.Keys, out.KeysBase64 = listFields(f.Keys)
	out.IDs, out.IDsBase64 = listFields(f.IDs)
	return &auditRecord{part: out, show: func(p *page) {
		p.divide()
		p.label("finding").ink(p.paint.bad, out.Kind)
		if f.Queue != "" {
			p.str("  in ").bytes(p.paint.main, f.Queue)
		}
		p.end()
		for _, id := range f.IDs {
			p.label("id").bytes(p.paint.id, id).end()
		}
		for _, key := range f.Keys {
			p.label("key").bytes(ink{}, key).end()
		}
		p.label("detail").str(f.Detail).end()
		p.label("why").str(f.Why).end()
		p.label("mend").str(f.Mend).end()
	}}
}

func newAuditQueue(q audit.Queue) *auditRecord {
	out := &auditQueue{Record: wordQueue, auditCounts: auditCounts{
		Keys: q.Keys, Pending: q.Pending, Active: q.Active, Scheduled: q.Scheduled, Dead: q.Dead, Awaiting: q.Awaiting,
		Lanes:   auditLanes{q.Lanes, q.Waiting, q.Paused, q.Full},
		Orphans: q.Orphans, Outbox: q.Outbox, Repeats: q.Repeats, Streams: q.Streams,
		Findings: q.Findings, Unsettled: q.Unsettled, Complete: q.Err == nil, Error: problemOf(q.Err),
	}}
	out.Queue, out.QueueBase64 = bytesFields(q.Name)
	if id, err := brandedid.Parse(q.Oldest); err == nil {
		out.Oldest = &auditOldest{q.Oldest, formatTime(id.Time())}
	}
	return &auditRecord{part: out}
}

// layoutQueues makes the text of queues, which is one table.
func layoutQueues(list []*auditRecord, now time.Time) {
	rows := [][]string{{"queue", "pending", "active", "scheduled", "dead", "waits", "lanes", "findings", "oldest waiting"}}
	for _, r := range list {
		q := r.part.(*auditQueue)
		name := ""
		if q.Queue != nil {
			name = *q.Queue
		} else {
			b, _ := base64.StdEncoding.DecodeString(*q.QueueBase64)
			name = string(b)
		}
		if name, _ = clipAround(name, 0); name == "" {
			name = `""`
		}
		oldest := "-"
		if q.Oldest != nil {
			t, _ := time.Parse(time.RFC3339, q.Oldest.Time)
			oldest = q.Oldest.Time + "  " + age(t, now)
		}
		lanes := "-"
		if l := q.Lanes; l.Count+l.Paused+l.Full > 0 {
			lanes = fmt.Sprintf("%d with %d", l.Count, l.Pending)
			if l.Paused > 0 {
				lanes += fmt.Sprintf(", %d paused", l.Paused)
			}
			if l.Full > 0 {
				lanes += fmt.Sprintf(", %d full", l.Full)
			}
		}
		if !q.Complete {
			oldest += "  not all of it was seen"
		}
		cells := []string{name}
		for _, n := range []int64{q.Pending, q.Active, q.Scheduled, q.Dead, q.Awaiting} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		rows = append(rows, append(cells, lanes, strconv.FormatInt(q.Findings, 10), oldest))
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(p *page, i ink, row []string) {
		for n, cell := range row {
			if n == len(row)-1 {
				p.ink(i, cell)
				break
			}
			p.ink(i, cell)
			p.pad(widths[n] - utf8.RuneCountInString(cell) + 2)
		}
		p.end()
	}
	for i, r := range list {
		r.show = func(p *page) {
			if i == 0 {
				p.divide()
				line(p, p.paint.label, rows[0])
			}
			line(p, ink{}, rows[i+1])
		}
	}
}

func newAuditServer(s audit.Server, c client) *auditRecord {
	out := &auditServer{Record: wordServer, Findings: s.Findings, Unsettled: s.Unsettled, auditWhole: auditWhole{
		Fences: []auditFenceRecord{}, Nodes: []auditNode{},
		DB: c.DB(), Address: c.Addr(), Server: c.Server(), Cluster: c.Cluster(),
		Covered: auditCovered{Complete: s.Err == nil, Queues: s.Queues - s.Partial, Keys: s.Keys, Error: problemOf(s.Err)},
	}}
	var others []string // databases with keys that were not looked at
	for _, f := range s.Fences {
		if f.DB != out.DB {
			others = append(others, strconv.Itoa(f.DB))
		}
		r := auditFenceRecord{DB: f.DB, Fence: string(valkey.FenceAbsent), Error: problemOf(f.Err)}
		switch {
		case f.Err != nil:
			r.Fence = string(valkey.FenceUnreadable)
		case f.Present:
			r.Fence = string(valkey.FencePresent)
			r.Value, r.ValueBase64 = bytesFields(f.Value)
			if f.DB == c.DB() {
				out.Fence, out.FenceBase64 = r.Value, r.ValueBase64
			}
		}
		out.Fences = append(out.Fences, r)
	}
	for _, n := range s.Nodes {
		out.Nodes = append(out.Nodes, auditNode{n.Addr, n.Keys, n.Err == nil, problemOf(n.Err)})
		if n.Err == nil {
			out.Covered.Nodes++
		}
	}
	return &auditRecord{part: out, show: func(p *page) {
		p.divide()
		p.label("server").str(out.Address)
		if out.Server != "" {
			p.about("%s", out.Server)
		}
		if out.Cluster {
			p.about("a cluster")
		}
		p.end()
		for _, f := range s.Fences {
			p.label("fence")
			switch {
			case f.Err != nil:
				p.ink(p.paint.bad, "unreadable").str("  " + clean(f.Err.Error()))
			case f.Present:
				p.str(escape.String(f.Value))
			default:
				p.ink(p.paint.note, "absent")
			}
			if len(s.Fences) > 1 {
				p.about("in database %d", f.DB)
			}
			p.end()
		}
		if s.FenceErr != nil {
			p.label("fence").ink(p.paint.bad, "unreadable").str("  " + clean(s.FenceErr.Error())).end()
		}
		for _, n := range s.Nodes {
			if n.Err != nil {
				p.label("node").str(n.Addr).ink(p.paint.bad, "  not seen whole").str(": " + clean(n.Err.Error())).end()
			}
		}
		p.label("covered")
		if s.Err != nil {
			p.ink(p.paint.bad, "not everything").str(": ")
		}
		p.str(strings.Join([]string{plural(int(s.Keys), "key"), ofAll(s.Queues-s.Partial, s.Queues, "queue"), ofAll(int64(out.Covered.Nodes), int64(len(s.Nodes)), "node")}, ", "))
		if len(others) > 0 {
			p.about("of database %d; there are keys in %s too", out.DB, strings.Join(others, ", "))
		}
		p.end()
		p.label("findings")
		if s.Findings > 0 {
			p.ink(p.paint.bad, strconv.FormatInt(s.Findings, 10)).end()
		} else {
			p.ink(p.paint.good, "none").end()
		}
		if s.Unsettled > 0 {
			p.label("unsettled").str(strconv.FormatInt(s.Unsettled, 10)).about("they changed each time they were looked at").end()
		}
	}}
}

// ofAll returns "3 nodes", or "2 of 3 nodes".
func ofAll(n, all int64, word string) string {
	if n == all {
		return plural(int(n), word)
	}
	return fmt.Sprintf("%d of %s", n, plural(int(all), word))
}
