package main

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
)

// extractIDs finds the branded ids in a line: 14 bytes that the host admits,
// with no letter or digit before or after. Anything less would be a guess.
func extractIDs(line string, found func(off int, s string)) {
	for i := 0; i < len(line); {
		if !isAlnum(line[i]) {
			i++
			continue
		}
		if n := control(line, i); n > 0 {
			i += n
			continue
		}
		start := i
		for i < len(line) && isAlnum(line[i]) {
			i++
		}
		if i-start == brandedid.Len {
			if _, err := brandedid.Parse(line[start:i]); err == nil {
				found(start, line[start:i])
			}
		}
	}
}

// control returns how many of the bytes at i belong to an escape that began
// before them and not to a word: the n of \n, the 1m of ESC[1m. Without this
// a word after an escape would be glued to it.
func control(line string, i int) int {
	if i > 0 && line[i-1] == '\\' && strings.IndexByte("nrtbfa", line[i]) >= 0 && backslashes(line, i)%2 == 1 {
		return 1
	}
	const longest = 40 // of the sequences that are looked for
	near := max(0, i-longest)
	for _, csi := range []string{"\x1b[", "\u009b", `\x1b[`, `\u001b[`, `\u001B[`, `\033[`, `\e[`} {
		if start := strings.LastIndex(line[near:i], csi); start >= 0 && strings.Trim(line[near+start+len(csi):i], "0123456789;:?") == "" {
			end := i
			for end < len(line) && strings.IndexByte("0123456789;:?", line[end]) >= 0 {
				end++
			}
			if end < len(line) && isAlnum(line[end]) {
				return end + 1 - i
			}
		}
	}
	return 0
}

// backslashes counts those directly before i.
func backslashes(line string, i int) int {
	n := 0
	for n < i && line[i-1-n] == '\\' {
		n++
	}
	return n
}

// extractKeys finds the keys of the protocol in a line of text: what opens
// with emq:{ or {emq}: and is not the tail of a longer word.
//
// Between double quotes, as MONITOR, valkey-cli and JSON print strings, a key
// runs to the closing quote and its escapes are undone; \" opens a string
// inside a string, which ends at the next \" and is undone twice, and so on.
// Between single quotes a key runs to the next one. Elsewhere it ends at a
// blank, at an escaped one inside a string, or at a byte that closes what logs
// put around keys, without the punctuation that ends a sentence.
func extractKeys(line string, found func(off int, s string)) {
	quotes, counted := 0, 0 // double quotes in line[:counted]
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
		if !opensWord(line, at) {
			continue
		}
		quotes += strings.Count(line[counted:at], `"`)
		counted = at
		key, end := keyAt(line, at, quotes%2 == 1)
		found(at, key)
		i = max(i, end)
	}
}

// opensWord reports whether what stands before a key leaves it a word of its
// own, unlike in my-emq:{q}:x.
func opensWord(line string, at int) bool {
	if at == 0 {
		return true
	}
	b := line[at-1]
	if !isAlnum(b) {
		return b != '_' && b != '-' && b != '.'
	}
	start := at - 1
	for start > 0 && isAlnum(line[start-1]) {
		start--
	}
	for start < at {
		n := control(line, start)
		if n == 0 {
			return false
		}
		start += n
	}
	return start == at
}

// keyAt returns the key that begins at a position, and where it ends.
func keyAt(line string, at int, inString bool) (key string, end int) {
	if at > 0 && line[at-1] == '"' {
		return quotedAt(line, at)
	}
	if at > 0 && line[at-1] == '\'' {
		if n := strings.IndexByte(line[at:], '\''); n >= 0 {
			return line[at : at+n], at + n
		}
	}
	ends := func(i int) bool {
		if isBlank(line[i]) || line[i] == '"' {
			return true
		}
		// Inside a string a backslash opens an escape, which may be of a blank.
		if !inString || line[i] != '\\' || i+1 == len(line) {
			return false
		}
		r, n := unicodeEscape(line[i:])
		return strings.IndexByte(`nrt"\`, line[i+1]) >= 0 || n > 0 && r <= ' ' || strings.HasPrefix(line[i:], `\x1b`)
	}
	// The queue between the braces may hold anything but a blank.
	end = at
	for end < len(line) && line[end] != '}' && !ends(end) {
		end++
	}
	for end < len(line) && !ends(end) && strings.IndexByte("'`,;()[]<>|", line[end]) < 0 {
		if line[end] == '}' && end+1 < len(line) && line[end+1] != ':' {
			// The braces of JSON or of a template close here.
			if _, err := decode.Parse(line[at:end]); err == nil {
				break
			}
		}
		end++
	}
	key = trimPunctuation(line[at:end])
	end = at + len(key)
	if inString {
		key = unquote(key, 1)
	}
	return key, end
}

// trimPunctuation cuts off what ends a sentence and is no part of a key: only
// what leaves a sound key behind.
func trimPunctuation(key string) string {
	for {
		cut := key[:max(len(key)-1, 0)]
		if cut == key || strings.IndexByte(".,:;!?}", key[len(key)-1]) < 0 {
			return key
		}
		if _, err := decode.Parse(cut); err != nil {
			return key
		}
		key = cut
	}
}

// quotedAt returns the key that follows a double quote. The backslashes before
// the quote tell how many strings deep it opens: none, 1, 3, 7 and so on. A
// quote closes a string of that depth, or one around it, when the backslashes
// before it are those and pairs that stand for backslashes themselves.
func quotedAt(line string, at int) (key string, end int) {
	opening, depth := backslashes(line, at-1), 1
	for n := opening; n > 0; n /= 2 {
		depth++
	}
	for end = at; end < len(line); end++ {
		if line[end] != '"' {
			continue
		}
		n := backslashes(line, end)
		for closing := 0; closing <= opening; closing = 2*closing + 1 {
			if n%(2*closing+2) == closing {
				return unquote(line[at:max(at, end-closing)], depth), end
			}
		}
	}
	return unquote(line[at:end], 1), end
}

// unquote undoes the escapes of a string, those of valkey-cli and of JSON,
// some times over. What is no escape stays as it is.
func unquote(s string, depth int) string {
	for ; depth > 0 && strings.Contains(s, `\`); depth-- {
		s = unquoteOnce(s)
	}
	return s
}

func unquoteOnce(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		if s[i+1] == 'u' {
			if r, n := unicodeEscape(s[i:]); n > 0 {
				b.WriteRune(r)
				i += n
				continue
			}
		}
		n := 2
		if s[i+1] == 'x' {
			n = 4
		}
		switch n = min(n, len(s)-i); s[i+1] {
		case '/':
			b.WriteByte('/')
		case 'f':
			b.WriteByte('\f')
		default:
			if text, err := escape.Unescape(s[i : i+n]); err == nil {
				b.WriteString(text)
			} else {
				b.WriteString(s[i : i+n])
			}
		}
		i += n
	}
	return b.String()
}

// unicodeEscape reads \uHHHH, or two of them that are a surrogate pair, and
// returns how long they are; 0 when they are none.
func unicodeEscape(s string) (rune, int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := unit(s[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func isBlank(b byte) bool { return b <= ' ' || b == 0x7f }

func isAlnum(b byte) bool {
	return '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}
