// Package slot computes the cluster slot of a key.
//
// A cluster of Valkey or Redis nodes divides its keys over 16384 slots. The
// slot of a key is the CRC16 of its hash tag, modulo 16384, where the tag is
// found by the rules of the cluster specification:
//
//   - without a '{' the whole key is hashed;
//   - so it is without a '}' after the first '{';
//   - so it is when nothing stands between that '{' and the first '}' after it;
//   - otherwise only the bytes between the two are hashed.
//
// Later braces do not count: foo{}{bar} is hashed whole, and foo{{bar}}zap by
// "{bar". Keys are bytes; no character set is implied.
//
// The keys of one EchoMQ queue, emq:{quotes}:pending and the rest, share the
// tag quotes and so the slot 3378.
package slot

import "strings"

// Count is the number of slots of a cluster.
const Count = 16384

// Rule says which bytes of a key are hashed, and why.
type Rule uint8

const (
	RuleTag      Rule = iota // the bytes of the hash tag
	RuleNoOpen               // the whole key: it has no '{'
	RuleNoClose              // the whole key: no '}' follows the first '{'
	RuleEmptyTag             // the whole key: nothing stands between the two
)

var rules = [...]struct{ word, about string }{
	RuleTag:      {"tag", "the bytes between the first { and the } after it"},
	RuleNoOpen:   {"no-open", "the whole key: it has no {"},
	RuleNoClose:  {"no-close", "the whole key: no } follows its first {"},
	RuleEmptyTag: {"empty-tag", "the whole key: its first {} is empty"},
}

// String returns the rule's word: tag, no-open, no-close or empty-tag.
func (r Rule) String() string { return rules[r].word }

// About says in a phrase which bytes the rule hashes.
func (r Rule) About() string { return rules[r].about }

// Tag returns the bytes of key that are hashed, and by which rule.
func Tag(key string) (tag string, rule Rule) {
	open := strings.IndexByte(key, '{')
	if open < 0 {
		return key, RuleNoOpen
	}
	n := strings.IndexByte(key[open+1:], '}')
	switch {
	case n < 0:
		return key, RuleNoClose
	case n == 0:
		return key, RuleEmptyTag
	}
	return key[open+1 : open+1+n], RuleTag
}

// Of returns the slot of key, from 0 to 16383. Every key has one, the empty
// key too.
func Of(key string) uint16 {
	tag, _ := Tag(key)
	return OfTag(tag)
}

// OfTag returns the slot of the keys whose hashed bytes are tag.
func OfTag(tag string) uint16 { return crc16(tag) % Count }
