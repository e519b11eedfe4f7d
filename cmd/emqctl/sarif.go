package main

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/echomq/emqctl/internal/trace"
)

// The part of SARIF 2.1.0, the OASIS format of static-analysis results, that
// lint fills.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifInvocation struct {
	ExecutionSuccessful bool `json:"executionSuccessful"` // every script was looked at
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	ShortDescription sarifMessage `json:"shortDescription"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	PhysicalLocation sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

// newSARIF makes one run of findings. The rules are all kinds, found or not.
func newSARIF(findings []findingRecord, whole bool) sarifLog {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "emqctl", InformationURI: "https://github.com/echomq/emqctl"}},
		Invocations: []sarifInvocation{{whole}},
		ColumnKind:  "utf16CodeUnits",
		Results:     []sarifResult{},
	}
	index := map[trace.FindingKind]int{}
	for i, k := range trace.Kinds() {
		index[k.Kind] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(k.Kind), sarifMessage{k.About}})
	}
	for _, f := range findings {
		run.Results = append(run.Results, sarifResult{
			RuleID:    string(f.Kind),
			RuleIndex: index[f.Kind],
			Level:     "error",
			Message:   sarifMessage{f.Message},
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{sarifURI(f.File)}, sarifRegion{f.Line, max(f.utf16, 1)}}}},
		})
	}
	return sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	}
}

// sarifURI returns a path as a URI reference: relative paths stay relative, to
// be found from the root of a checkout.
func sarifURI(path string) string {
	path = filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
	}
	return (&url.URL{Path: path}).String()
}
