// Package scripts is the registry of the protocol's verbs: what each Lua
// script says of itself in its header, and nothing from anywhere else.
//
// A verb is one file, named for its handle: enqueue.lua. The file opens with a
// header of Lua comments, and the header ends at the first line that is no
// comment. What is loaded into a server, and hashed, is the whole file.
//
//	-- extend_lock: renews the lease of one job.
//	--
//	-- host     Jobs  extend_lock/5
//	--
//	-- KEYS[1]  active  zset  emq:{q}:active    jobs under lease, by deadline in ms
//	-- KEYS[2]  row     hash  emq:{q}:job:<id>  the job's row
//	--
//	-- ARGV[1]  id     the job's branded id
//	-- ARGV[2]  token  the holder's fencing token: the attempts its claim returned
//	-- ARGV[3]  lease  how long the claim holds from now, in ms
//	--
//	-- returns  1   :ok              the lease is renewed
//	-- returns  -1  {:error, :gone}  the row has no attempts
//	--
//	-- refuses  EMQSTALE extend token mismatch  {:error, :stale}  somebody else has claimed it since
//
// # Lines
//
// A line is "--" and a blank, then text; or "--" alone, which separates and
// says nothing. A line with two or more blanks after "--" continues the line
// above. There are no tabs.
//
// The first line is the verb, a colon and its summary, one sentence with its
// full stop. Every other line is an entry. Its columns stand two or more
// blanks apart, so that they may be aligned, and a single blank is part of a
// column. The first column says what the entry is; entries come in this order:
//
//	host     MODULE  FUNCTIONS             once: who calls the verb, with arities
//	forms    NAME  NAME ...                at most once: the forms of the call, where KEYS varies
//	reads    COMMAND  WHY                  a command that the host sends before the call
//	KEYS[n]  NAME  TYPE  PATTERN  ROLE     a key
//	KEYS[n]  NAME  base  PATTERN           a bare base, from which keys are derived
//	ARGV[n]  NAME  MEANING                 an argument, with its unit
//	returns  VALUE  HOST  MEANING          at least once: a reply
//	refuses  TEXT  HOST  MEANING           an error reply
//
// # Columns
//
// The verb, a NAME of a key or an argument and a form are words: a lower-case
// letter, then lower-case letters, digits and "_" (and "-", in a form).
//
// TYPE is hash, zset, list, set, string or stream. PATTERN is a key with
// "<name>" for each part that varies, and "{q}" for the hash tag; it has no
// blank. The PATTERN of a base ends in a colon.
//
// VALUE is the reply as the script returns it: 1, [id, payload], dead. HOST is
// what the host makes of it, or "-" where that is not published. TEXT is the
// whole refusal; it opens with its class, EMQ and upper-case letters, and a
// blank.
//
// # Marks
//
// A KEYS or ARGV entry may end in one more column, marks in square brackets,
// separated by commas:
//
//	[repeated]    this one and every later one; several may follow each other as a tuple
//	[optional]    the call may end before it
//	[queue base]  ARGV only: keys are derived from it, and it is emq:{q}:
//	[job base]    ARGV only: keys are derived from it, and it is emq:{q}:job:
//	[a form]      carried by that form of the call only, and so optional
//
// Within each form of the call, KEYS are numbered from 1 without a gap, as are
// ARGV; no number and no name comes twice; nothing follows what is repeated;
// and what is required does not follow what is optional. A number may be
// declared once for one form and once more for another.
package scripts
