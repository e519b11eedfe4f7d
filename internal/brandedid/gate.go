package brandedid

import "strings"

const (
	// JobNamespace is the namespace that the wire demands of a job's id.
	JobNamespace = "JOB"
	// WireRefusal is the error reply to an id of another namespace, byte for
	// byte the same from a script and from the native command.
	WireRefusal = "EMQKIND job id must be JOB-namespaced"
)

// WireAdmits reports whether the wire takes s as the id of a job. It compares
// the first three bytes with JOB and reads no others: JOB-42 is admitted, and
// only [Parse], the host's check, refuses it.
func WireAdmits(s string) bool { return strings.HasPrefix(s, JobNamespace) }

// WirePrefix returns the bytes that the wire reads of s: the first three, or
// all of a shorter one.
func WirePrefix(s string) string { return s[:min(len(s), NamespaceLen)] }
