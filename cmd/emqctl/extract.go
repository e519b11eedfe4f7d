package main

import (
	"strings"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
)

// extractKeys finds the keys of the protocol in a line of text: what opens
// with emq:{ or {emq}: and is not the tail of a longer word. Between double
// quotes, as MONITOR and valkey-cli print arguments, a key runs to the closing
// quote and its escapes are undone; between single quotes it runs to the next
// one. Elsewhere it ends at a blank or at a byte that closes what a log puts
// around keys, without the punctuation that ends a sentence.
func extractKeys(line string, found func(off int, s string)) {
	for i := 0; i < len(line); {
		n := strings.Index(line[i:], "emq")
		if n < 0 {
			return
		}
		at := i + n
		i = at + len("emq")
		switch {
		case strings.HasPrefix(line[at:], "emq:{"):
		case at > 0 && line[at-1] == '{' && strings.HasPrefix(line[at:], "emq}:"):
			at--
		default:
			continue
		}
		if at > 0 && isWordByte(line[at-1]) {
			continue
		}
		key, end := keyAt(line, at)
		found(at, key)
		i = max(i, end)
	}
}

// keyAt returns the key that begins at a position, and where it ends.
func keyAt(line string, at int) (key string, end int) {
	if at > 0 && line[at-1] == '"' {
		for end = at; end < len(line) && line[end] != '"'; end++ {
			if line[end] == '\\' {
				end++
			}
		}
		end = min(end, len(line))
		if key, err := escape.Unescape(line[at:end]); err == nil {
			return key, end
		}
		return line[at:end], end
	}
	if at > 0 && line[at-1] == '\'' {
		if n := strings.IndexByte(line[at:], '\''); n >= 0 {
			return line[at : at+n], at + n
		}
	}
	// The queue between the braces may hold anything but a blank.
	end = at
	for end < len(line) && line[end] != '}' && !isBlank(line[end]) {
		end++
	}
	for end < len(line) && !isBlank(line[end]) && strings.IndexByte("\"'`,;()[]<>|", line[end]) < 0 {
		if line[end] == '}' && end+1 < len(line) && line[end+1] != ':' {
			// The braces of JSON or of a template close here.
			if _, err := decode.Parse(line[at:end]); err == nil {
				break
			}
		}
		end++
	}
	key = line[at:end]
	for {
		shorter := strings.TrimRight(key, ".,:;!?}")
		if shorter == key {
			return key, at + len(key)
		}
		// Only what a sound key can do without is punctuation.
		if _, err := decode.Parse(shorter); err != nil {
			if next := key[:len(key)-1]; next != shorter {
				if _, err := decode.Parse(next); err == nil {
					key = next
					continue
				}
			}
			return key, at + len(key)
		}
		key = shorter
	}
}

func isBlank(b byte) bool { return b <= ' ' || b == 0x7f }

// isWordByte reports whether a byte before a key makes it the tail of
// something else: my-emq:{q}:x.
func isWordByte(b byte) bool { return isAlnum(b) || b == '_' || b == '-' || b == '.' }
