package trace

import (
	"math"
	"strconv"
	"strings"
)

// library lists what Valkey 8.0.1 gives to scripts in each of its tables.
var library = map[string]string{
	"redis": "call pcall LOG_DEBUG LOG_NOTICE LOG_VERBOSE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM REPL_ALL REPL_AOF REPL_NONE REPL_REPLICA REPL_SLAVE " +
		"SERVER_NAME VALKEY_VERSION VALKEY_VERSION_NUM acl_check_cmd breakpoint debug error_reply log register_function replicate_commands " +
		"set_repl setresp sha1hex status_reply",
	"string":    "byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper",
	"table":     "concat foreach foreachi getn insert maxn remove setn sort",
	"math":      "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi pow rad random randomseed sin sinh sqrt tan tanh",
	"cjson":     "_NAME _VERSION decode decode_invalid_numbers decode_max_depth encode encode_invalid_numbers encode_keep_buffer encode_max_depth encode_number_precision encode_sparse_array new null",
	"cmsgpack":  "_COPYRIGHT _DESCRIPTION _NAME _VERSION pack unpack unpack_limit unpack_one",
	"struct":    "pack size unpack",
	"bit":       "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex",
	"os":        "clock",
	"coroutine": "create resume running status wrap yield",
}

// members are the names in a table of the library; ok is false when it is no
// such table.
func members(lib string) (names []string, ok bool) {
	list, ok := library[lib]
	return strings.Fields(list), ok
}

// hasMember reports whether a table of the library has a name. What is no
// table of the library is given the benefit of the doubt.
func hasMember(lib, name string) bool {
	list, ok := library[lib]
	for ok && list != "" {
		var m string
		if m, list, _ = strings.Cut(list, " "); m == name {
			return true
		}
	}
	return !ok
}

// nearestMember is the member closest to a name that is none.
func nearestMember(lib, name string) string {
	best, bestN := "", 3
	names, _ := members(lib)
	for _, m := range names {
		if strings.EqualFold(m, name) {
			return m
		}
		if n := distance(name, m); n < bestN {
			best, bestN = m, n
		}
	}
	return best
}

// luaNumber reads a string as tonumber does, by C's strtod.
func luaNumber(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	digits := strings.ToLower(strings.TrimLeft(s, "+-"))
	if len(s)-len(digits) > 1 || strings.Contains(s, "_") {
		return 0, false
	}
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		if !strings.Contains(hex, "p") {
			s += "p0"
		}
	} else if strings.Trim(digits, "0123456789.e+-") != "" && digits != "nan" && digits != "inf" && digits != "infinity" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		if e, ok := err.(*strconv.NumError); !ok || e.Err != strconv.ErrRange {
			return 0, false
		}
	}
	return f, true
}

// formatNumber prints a number as tostring and .. do on a server: %.14g.
func formatNumber(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', 14, 64)
}

// argumentNumber prints a number as a server does that is passed to it
// directly: as an integer when it is one, otherwise with the fewest digits
// that tell it. (A server's fpconv finds them for all but about one double in
// a thousand, such as 1e23.)
func argumentNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) <= 1<<62 {
		return strconv.FormatInt(int64(f), 10)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return formatNumber(f)
	}
	m, e, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'e', -1, 64), "e")
	exp, _ := strconv.Atoi(e)
	digits := strings.ReplaceAll(m, ".", "")
	sign := ""
	if f < 0 {
		sign = "-"
	}
	n := len(digits)
	k := exp - n + 1 // the power of ten of the last digit
	abs := max(exp, -exp)
	switch {
	case k >= 0 && abs < n+7:
		return sign + digits + strings.Repeat("0", k)
	case k < 0 && (k > -7 || abs < 4):
		if at := n + k; at > 0 {
			return sign + digits[:at] + "." + digits[at:]
		} else {
			return sign + "0." + strings.Repeat("0", -at) + digits
		}
	}
	out := sign + digits[:1]
	if n > 1 {
		out += "." + digits[1:]
	}
	if exp < 0 {
		return out + "e-" + strconv.Itoa(abs)
	}
	return out + "e+" + strconv.Itoa(abs)
}
