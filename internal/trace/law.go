package trace

// FindingKind is the stable name of a kind of finding.
type FindingKind string

// Finding is something a script should not do.
type Finding struct {
	Kind    FindingKind `json:"kind"`
	Line    int         `json:"line"`
	Col     int         `json:"col"`
	Message string      `json:"message"`
}

// The kinds of findings.
const (
	FindGlobalVariable FindingKind = "global-variable"
	FindNumberFormat   FindingKind = "number-format"
	FindUnknownCommand FindingKind = "unknown-command"
)
