package decode

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echomq/emqctl/internal/slot"
)

type vector struct {
	Key    string
	OK     bool
	Space  string
	Queue  *string
	Slot   uint16
	Type   *string
	Name   *string
	Store  *string
	ID     *string
	Notes  []string
	Error  *string
	Offset *int
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	data, err := os.ReadFile("../../testdata/vectors/keys.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		tb.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		tb.Fatal("no vectors")
	}
	return file.Vectors
}

// clock is later than every id of the vectors.
var clock = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestVectors(t *testing.T) {
	ptr := func(s string, ok bool) *string {
		if !ok {
			return nil
		}
		return &s
	}
	for _, v := range vectors(t) {
		k, err := Parse(v.Key)
		got := vector{
			Key: v.Key, OK: err == nil, Space: k.Space.String(), Slot: slot.Of(v.Key),
			Queue: ptr(k.Queue, k.Space == Queue),
			Type:  ptr(k.Type.String(), k.Type != Unregistered),
			Name:  ptr(k.Name, k.HasName()),
			Store: ptr(k.Type.Info().Store, k.Type.Info().Store != ""),
			ID:    ptr(k.ID.String(), k.HasID()),
			Notes: []string{},
		}
		if err == nil {
			for _, n := range k.Notes(clock) {
				got.Notes = append(got.Notes, string(n.Kind))
				if n.Off < 0 || n.Off > len(v.Key) || n.Msg == "" {
					t.Errorf("Parse(%q): note %+v", v.Key, n)
				}
			}
			if s := k.String(); s != v.Key {
				t.Errorf("Parse(%q).String() = %q", v.Key, s)
			}
		} else {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Parse(%q): %v is no *Error", v.Key, err)
			}
			kind := string(e.Kind)
			got.Error, got.Offset = &kind, &e.Off
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", v.Key, diff)
		}
	}
}

func TestMessages(t *testing.T) {
	tests := []struct{ key, want, hint string }{
		{"", "found the end, want a key that opens with emq:{ or {emq}:", ""},
		{"bull:q:wait", "found 'b', want a key that opens with emq:{ or {emq}:", ""},
		{"EMQ:{q}:pending", "found 'E', want a key that opens with emq:{ or {emq}:", "the prefix is lower case"},
		{"\x1b[31m", `found '\x1b', want a key that opens with emq:{ or {emq}:`, ""},
		{"'emq:{q}:pending'", "found ''', want a key that opens with emq:{ or {emq}:", "a quote or blank was pasted with emq:{q}:pending"},
		{" emq:{q}:pending", "found ' ', want a key that opens with emq:{ or {emq}:", "a quote or blank was pasted with emq:{q}:pending"},
		{"JOB0KHTOWnGLuC", "found 'J', want a key that opens with emq:{ or {emq}:", "that is an id, not a key: decode-id reads it"},
		{"{em}:version", "found '}', want a key that opens with emq:{ or {emq}:", ""},
		{"emq:quotes:pending", "found 'q', want '{': the queue stands between braces", "were the braces lost in the shell? Quote the key: 'emq:{quotes}:pending'"},
		{"emq:<quotes>:job:JOB0KHTOWnGLuC", "found '<', want '{': the queue stands between braces", "the queue stands between { and }, not < and >: emq:{quotes}:job:JOB0KHTOWnGLuC"},
		{"emq:(q):x", "found '(', want '{': the queue stands between braces", "the queue stands between { and }, not ( and ): emq:{q}:x"},
		{"emq::pending", "found ':', want '{': the queue stands between braces", "a key is emq:{<queue>}:<type>"},
		{"emq:", "found the end, want '{': the queue stands between braces", "a key is emq:{<queue>}:<type>"},
		{"emq:{q", "found a '{' that is never closed, want the queue between braces", "a key is emq:{<queue>}:<type>"},
		{"\ufeffemq:{q}:x", `found '\xef', want a key that opens with emq:{ or {emq}:`, "a byte order mark stands before the key"},
		{"emq:{q:pending", "found a '{' that is never closed, want the queue between braces", "write emq:{q}:pending"},
		{"emq:{}:pending", "found {}, want a queue between the braces: without one a key has no hash tag", "an empty template variable? Such keys share no slot, and no script can use two of them in a cluster"},
		{"emq:{q}", "found the end, want ':' after the queue's closing brace", ""},
		{"emq:{q}pending", "found 'p', want ':' after the queue's closing brace", ""},
		{"emq:{a}b}:pending", "found 'b', want ':' after the queue's closing brace", `a queue name cannot hold a '}': the tag here is "a"`},
		{"{emq}:", "found the end, want a type after {emq}:", "the reserve holds version, locks, bundle, migration:<queue>"},
		{"emq:{q}:job:job-42", "id is 6 bytes, want 14", ""},
		{"emq:{q}:job:JOB-42", "id is 6 bytes, want 14", "only the host refuses it: the wire reads three bytes, and they are JOB"},
		{"emq:{q}:job:usr0KHTOWnGLuC", "namespace has 'u', want a letter A-Z", "namespaces are upper case: USR0KHTOWnGLuC"},
		{"emq:{q}:job:274557032793636864", "id is 18 bytes, want 14", "a bare snowflake: under the namespace JOB it is JOB0KHTOWnGLuC"},
		{"emq:{q}:job:JOBzzzzzzzzzzz", "payload zzzzzzzzzzz is beyond AzL8n0Y58m7, which is 2^63-1", "only the host refuses it: the wire reads three bytes, and they are JOB"},
	}
	for _, tt := range tests {
		_, err := Parse(tt.key)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q): %v, want %s", tt.key, err, tt.want)
			continue
		}
		if got := Hint(tt.key, err, clock); got != tt.hint {
			t.Errorf("Hint(%q) = %q, want %q", tt.key, got, tt.hint)
		}
	}
}

func TestNotes(t *testing.T) {
	tests := []struct {
		key  string
		want []Note
	}{
		{"emq:{q}:pendin", []Note{{NoteUnregistered, 8, "pendin is no registered type; the nearest is pending"}}},
		{"emq:{q}:Pending", []Note{{NoteUnregistered, 8, "Pending is no registered type; the nearest is pending"}}},
		{"emq:{q}:pending ", []Note{{NoteUnregistered, 8, "a quote or blank was pasted after pending"}}},
		{"emq:{q}:job", []Note{{NoteUnregistered, 8, "job is no registered type; the nearest is job:<id>"}}},
		{"emq:{q}:job:JOB0KHTOWnGLuC:log", []Note{{NoteUnregistered, 27, "job:JOB0KHTOWnGLuC:log is no registered type; the nearest is job:<id>:logs"}}},
		{"emq:{q}:metrics:other", []Note{{NoteUnregistered, 8, "metrics:other is no registered type; the nearest is metrics:<metric>"}}},
		{"emq:{q}:g:PRT0KHTOWnGLuC", []Note{{NoteUnregistered, 8, "g:PRT0KHTOWnGLuC is no registered type; the nearest is g:<group>:pending"}}},
		{"emq:{q}:zzzzzzzzzz", []Note{{NoteUnregistered, 8, "zzzzzzzzzz is no registered type"}}},
		{"emq:{q}:wait", []Note{{NoteUnregistered, 8, "wait is of the protocol's first version: waiting jobs stand in pending"}}},
		{"{emq}:versio", []Note{{NoteUnregistered, 6, "versio is no registered type; the nearest is version"}}},
		{"emq:{q}:de:", []Note{{NoteEmptyName, 11, "the dedup id is empty"}}},
		{"emq:{emq}:pending", []Note{{NoteReservedQueue, 5, "the queue emq shares slot and tag with the reserve, {emq}:"}}},
		{"emq:{a{b}:pending", []Note{{NoteQueueName, 6, "the host's valid_queue refuses a queue name with a brace or NUL"}}},
		{"emq:{a b}:pending", []Note{{NoteQueueName, 6, "the design rule wants 1 to 128 of A-Z a-z 0-9 . _ -"}}},
		{"emq:{q}:job:USR0KHTOWnGLuC", []Note{{NoteWireRefused, 12, "no admission takes it for a job's id: EMQKIND job id must be JOB-namespaced"}}},
		{"emq:{q}:job:JOBAzL8n0Y58m7", []Note{{NoteFuture, 15, "minted after now"}}},
		{"emq:{q}:job:JOB8qGWwtYfUP2", []Note{{NoteFuture, 15, "minted after now: counted from the Unix epoch? Read so, it was minted 2026-01-27T15:11:37.641Z"}}},
		{"emq:{q}:stream:audit:archived", []Note{{NoteAmbiguous, 20, `also the key of a stream called "audit:archived"; TYPE tells: string or stream`}}},
		{"emq:{a b}:job:USRAzL8n0Y58m7:x", []Note{
			{NoteQueueName, 6, "the design rule wants 1 to 128 of A-Z a-z 0-9 . _ -"},
			{NoteWireRefused, 14, "no admission takes it for a job's id: EMQKIND job id must be JOB-namespaced"},
			{NoteFuture, 17, "minted after now"},
			{NoteUnregistered, 29, "job:USRAzL8n0Y58m7:x is no registered type; the nearest is job:<id>"},
		}},
	}
	for _, tt := range tests {
		k, err := Parse(tt.key)
		if err != nil {
			t.Fatalf("Parse(%q): %v", tt.key, err)
		}
		if diff := cmp.Diff(tt.want, k.Notes(clock)); diff != "" {
			t.Errorf("notes on %q (-want +got):\n%s", tt.key, diff)
		}
	}
}

// TestQueueNameLength holds the design rule's bound to the byte.
func TestQueueNameLength(t *testing.T) {
	long := make([]byte, 129)
	for i := range long {
		long[i] = 'q'
	}
	if n, bad := CheckDesign(string(long[:128])); bad {
		t.Errorf("a name of 128 bytes: %+v", n)
	}
	if n, bad := CheckDesign(string(long)); !bad || n.Off != 128 || n.Kind != NoteQueueName {
		t.Errorf("a name of 129 bytes: %+v, %v", n, bad)
	}
}

// TestTypes builds a key of every registered type and reads it back.
func TestTypes(t *testing.T) {
	names := map[string]string{"": "", "id": "JOB0KHTOWnGLuC", "metric": "failed"}
	seen := map[string]bool{}
	for _, info := range Types() {
		if seen[info.Word] {
			t.Errorf("type %s stands twice in the table", info.Word)
		}
		seen[info.Word] = true
		name, ok := names[info.Placeholder()]
		if !ok {
			name = "a:b"
		}
		key, err := Build("quotes", info.Type, name)
		if err != nil {
			t.Errorf("Build(%s): %v", info.Word, err)
			continue
		}
		k, err := Parse(key)
		if err != nil || k.Type != info.Type || k.Space != info.Space || k.HasName() && k.Name != name {
			t.Errorf("Build(%s) = %s, read as %s %q, %v", info.Word, key, k.Type, k.Name, err)
		}
		if got, ok := TypeByWord(info.Word); !ok || got != info || info.Type.Info() != info {
			t.Errorf("TypeByWord(%q) = %+v, %v", info.Word, got, ok)
		}
	}
	if len(seen) != int(Migration) {
		t.Errorf("%d types in the table, want %d", len(seen), Migration)
	}
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		queue string
		typ   Type
		name  string
		want  string
		kind  Kind
		off   int
	}{
		{"", Pending, "", "found an empty queue name, want at least one byte", KindQueue, 0},
		{"a}b", Pending, "", "found '}', want a queue name without braces and NUL", KindQueue, 1},
		{"a\x00", Pending, "", `found '\x00', want a queue name without braces and NUL`, KindQueue, 1},
		{"q", Pending, "x", `found the name "x", want none: a key of type pending has no name`, KindName, 0},
		{"q", Job, "job-42", "id is 6 bytes, want 14", "length", 6},
		{"q", JobLogs, "JOB0KHTOWnGL!C", "payload has '!', want a base62 digit: 0-9, A-Z or a-z", "charset", 12},
		{"q", Metrics, "dead", `found the name "dead", want completed or failed`, KindName, 0},
		{"q", De, "", "found nothing, want a dedup id", KindName, 0},
		{"q", Stream, "x:archived", `found the name "x:archived", want another: with it the key is of type stream:archived`, KindName, 0},
	}
	for _, tt := range tests {
		key, err := Build(tt.queue, tt.typ, tt.name)
		var e *Error
		if !errors.As(err, &e) || e.Error() != tt.want || e.Kind != tt.kind || e.Off != tt.off || key != "" {
			t.Errorf("Build(%q, %s, %q) = %q, %v, want %s %d: %s", tt.queue, tt.typ, tt.name, key, err, tt.kind, tt.off, tt.want)
		}
	}
}

func TestJobKey(t *testing.T) {
	if key, err := JobKey("quotes", "USR0KHTOWnGLuC"); err != nil || key != "emq:{quotes}:job:USR0KHTOWnGLuC" {
		t.Errorf("JobKey = %q, %v", key, err)
	}
	if key, err := JobKey("quotes", "JOB-42"); err == nil || key != "" {
		t.Errorf("JobKey of JOB-42 = %q, %v", key, err)
	}
}

func TestNoAllocs(t *testing.T) {
	for _, key := range []string{"emq:{quotes}:job:JOB0KHTOWnGLuC", "emq:{quotes}:g:PRT0KHTOWnGLuC:pending", "emq:{quotes}:pending", "{emq}:version"} {
		if n := testing.AllocsPerRun(100, func() {
			k, _ := Parse(key)
			k.Notes(clock)
		}); n != 0 {
			t.Errorf("reading %s allocates %v times, want 0", key, n)
		}
	}
}
