package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/slot"
)

// testClock is the clock of every test that does not say otherwise.
var testClock = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// The expected records of this file are built from the cores by the plainest
// code there is, so that the appenders have something to be held to.

func ptr[T any](v T) *T { return &v }

// bytesField is what a field of bytes holds, and its _base64.
func bytesField(s string) (text, b64 *string) {
	if utf8.ValidString(s) {
		return &s, nil
	}
	return nil, ptr(base64.StdEncoding.EncodeToString([]byte(s)))
}

func wantNotes(notes []decode.Note) []note {
	out := []note{}
	for _, n := range notes {
		out = append(out, note{string(n.Kind), n.Off, n.Msg})
	}
	return out
}

func wantID(s string) idContract {
	c := idContract{Host: &hostContract{}, Wire: &wireContract{}, Notes: []note{}}
	c.ID, c.IDBase64 = bytesField(s)
	if id, err := brandedid.Parse(s); err != nil {
		e := err.(*brandedid.Error)
		hint := brandedid.Hint(s, testClock)
		if _, err := decode.Parse(s); err == nil {
			hint = "that is a key: decode-key reads it"
		}
		c.Host.Error = newProblem(string(e.Kind), e.Off, e.Error(), hint)
	} else {
		c.OK, c.Host.OK = true, true
		c.Namespace = ptr(id.Namespace())
		c.Snowflake = ptr(strconv.FormatUint(id.Snowflake(), 10))
		c.UnixMS, c.Time = ptr(id.UnixMilli()), ptr(formatTime(id.Time()))
		c.Node, c.Seq, c.Hash32 = ptr(id.Node()), ptr(id.Seq()), ptr(id.Hash32())
		c.Notes = wantNotes(decode.IDNotes(id, testClock))
	}
	c.Wire.OK = brandedid.WireAdmits(s)
	c.Wire.Prefix, c.Wire.PrefixBase64 = bytesField(brandedid.WirePrefix(s))
	if !c.Wire.OK {
		c.Wire.Error = ptr(brandedid.WireRefusal)
	}
	return c
}

func wantKey(s string) keyContract {
	c := keyContract{Slot: ptr(slot.Of(s)), Notes: []note{}}
	c.Key, c.KeyBase64 = bytesField(s)
	tag, _ := slot.Tag(s)
	c.Tag, c.TagBase64 = bytesField(tag)
	k, err := decode.Parse(s)
	if k.Space != decode.NoSpace {
		c.Space = ptr(k.Space.String())
		c.Suffix, c.SuffixBase64 = bytesField(k.Suffix)
	}
	if k.Space == decode.Queue {
		c.Queue, c.QueueBase64 = bytesField(k.Queue)
	}
	if err != nil {
		e := err.(*decode.Error)
		c.Error = newProblem(string(e.Kind), e.Off, e.Error(), decode.Hint(s, e, testClock))
		return c
	}
	c.OK, c.Notes = true, wantNotes(k.Notes(testClock))
	if k.Type != decode.Unregistered {
		info := k.Type.Info()
		c.Type, c.Role = &info.Word, &info.Role
		if info.Store != "" {
			c.Store = &info.Store
		}
	}
	if k.HasName() {
		c.Name, c.NameBase64 = bytesField(k.Name)
	}
	if k.HasID() {
		c.Kind, c.ID = ptr(k.ID.Namespace()), ptr(wantID(k.ID.String()))
	}
	return c
}

func wantSlot(s string) slotContract {
	tag, rule := slot.Tag(s)
	c := slotContract{Slot: ptr(slot.Of(s)), Rule: ptr(rule.String()), Notes: []note{}}
	c.Key, c.KeyBase64 = bytesField(s)
	c.Tag, c.TagBase64 = bytesField(tag)
	if _, err := decode.Parse(s); err != nil && rule != slot.RuleTag && strings.HasPrefix(s, "emq:") {
		e := err.(*decode.Error)
		msg := e.Error()
		if hint := decode.Hint(s, e, testClock); hint != "" {
			msg += "; " + hint
		}
		c.Notes = append(c.Notes, note{string(e.Kind), e.Off, msg})
	}
	return c
}

// readBack reads a record's JSON into its contract, strictly.
func readBack[C any](t *testing.T, r record) C {
	t.Helper()
	out := r.appendJSON(nil)
	if i := bytes.IndexFunc(out, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }); i >= 0 {
		t.Fatalf("a control character at byte %d of %q", i, out)
	}
	var got C
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil || dec.More() {
		t.Fatalf("%s: %v", out, err)
	}
	// Every field without omitempty is there, in the order of the contract.
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jsonNames(t, again), jsonNames(t, out)); diff != "" {
		t.Fatalf("fields of %s (-contract +record):\n%s", out, diff)
	}
	return got
}

// jsonNames lists the field names of a document in order, nested ones too.
func jsonNames(t *testing.T, doc []byte) []string {
	t.Helper()
	var names []string
	var value func(dec *json.Decoder)
	value = func(dec *json.Decoder) {
		tok, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch tok {
		case json.Delim('{'):
			for dec.More() {
				name, err := dec.Token()
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, name.(string))
				value(dec)
			}
			dec.Token()
		case json.Delim('['):
			for dec.More() {
				value(dec)
			}
			dec.Token()
		}
	}
	value(json.NewDecoder(bytes.NewReader(doc)))
	return names
}

// checkTSV holds the columns of a line to the fields of the contract.
func checkTSV(t *testing.T, r tabular, want ...*string) {
	t.Helper()
	line := string(r.appendTSV(nil))
	if strings.ContainsAny(line, "\n\r\x00\x1b") {
		t.Fatalf("tsv line %q", line)
	}
	cells := strings.Split(line, "\t")
	if len(cells) != len(want) {
		t.Fatalf("tsv line %q has %d columns, want %d", line, len(cells), len(want))
	}
	for i, w := range want {
		if w == nil {
			if cells[i] != "-" {
				t.Fatalf("column %d of %q is %q, want -", i, line, cells[i])
			}
			continue
		}
		got, err := escape.Unescape(cells[i])
		if err != nil || got != *w || cells[i] == "-" {
			t.Fatalf("column %d of %q is %q, want %q (%v)", i, line, cells[i], *w, err)
		}
	}
}

var unexported = cmpopts.IgnoreUnexported(keyContract{}, idContract{}, slotContract{}, encodedIDContract{})

// FuzzRecords holds the appended JSON, read by encoding/json, and the columns
// to the records, field by field, for any bytes.
func FuzzRecords(f *testing.F) {
	for _, s := range []string{
		"", "-", "emq:{quotes}:job:JOB0KHTOWnGLuC", "emq:{quotes}:job:JOB0KHTOWnGLuC:logs", "emq:{q}:g:a:b:pending",
		"emq:{q}:de:", "{emq}:version", "{emq}:migration:\xff", "emq:{\x00}:pending", "emq:{\xff}:stream:\xfe:archived",
		"emq:quotes:pending", "emq:{q}:job:JOB-42", "emq:{q}:job:USRAzL8n0Y58m7", "emq:{q}:wait", "foo{}{bar}", "a\tb\\c\"d\n",
		"JOB0KHTOWnGLuC", "JOB-42", "\x1b[31mJO", "USR0KHTOWnGLé", "274557032793636864", "JOBAzL8n0Y58m7",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		it := item{text: s, line: 1}

		key := &keyRecord{}
		key.read(it, testClock)
		gotKey := readBack[keyContract](t, key)
		wantK := wantKey(s)
		if diff := cmp.Diff(wantK, gotKey, unexported); diff != "" {
			t.Fatalf("decode-key %q (-want +got):\n%s", s, diff)
		}
		k, _ := decode.Parse(s)
		var id, queue *string
		if wantK.ID != nil {
			id = wantK.ID.ID
		}
		if wantK.Space != nil && *wantK.Space == "queue" {
			queue = &k.Queue
		}
		checkTSV(t, key, ptr(strconv.FormatBool(wantK.OK)), ptr(strconv.Itoa(int(*wantK.Slot))), queue, wantK.Type, wantK.Kind, id, &s)

		idRec := &idRecord{}
		idRec.read(it, testClock)
		gotID := readBack[idContract](t, idRec)
		wantI := wantID(s)
		if diff := cmp.Diff(wantI, gotID, unexported); diff != "" {
			t.Fatalf("decode-id %q (-want +got):\n%s", s, diff)
		}
		num := func(n *int) *string {
			if n == nil {
				return nil
			}
			return ptr(strconv.Itoa(*n))
		}
		var hash *string
		if wantI.Hash32 != nil {
			hash = ptr(strconv.FormatUint(uint64(*wantI.Hash32), 10))
		}
		checkTSV(t, idRec, ptr(strconv.FormatBool(wantI.OK)), wantI.Namespace, wantI.Snowflake, wantI.Time, num(wantI.Node), num(wantI.Seq), hash, &s)

		slotRec := &slotRecord{}
		slotRec.read(it, testClock)
		gotSlot := readBack[slotContract](t, slotRec)
		if diff := cmp.Diff(wantSlot(s), gotSlot); diff != "" {
			t.Fatalf("slot %q (-want +got):\n%s", s, diff)
		}
		tag, _ := slot.Tag(s)
		checkTSV(t, slotRec, ptr(strconv.Itoa(int(*gotSlot.Slot))), &tag, &s)

		// The text of a record never lets a control character through.
		for _, r := range []record{key, idRec, slotRec} {
			p := page{paint: &palette{}}
			r.appendText(&p)
			for _, c := range string(p.buf) {
				if c < ' ' && c != '\n' || c >= 0x7f && c <= 0x9f {
					t.Fatalf("text of %q has %q", s, p.buf)
				}
			}
			if !utf8.Valid(p.buf) {
				t.Fatalf("text of %q is not UTF-8: %q", s, p.buf)
			}
		}
	})
}
