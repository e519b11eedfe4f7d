package verbtest

import (
	"slices"
	"strconv"
)

// dump reads the whole keyspace.
func (s *Server) dump() Store {
	s.tb.Helper()
	keys, err := s.do("KEYS", "*").AsStrSlice()
	if err != nil {
		s.tb.Fatal(err)
	}
	store := Store{}
	for _, key := range keys {
		kind, err := s.do("TYPE", key).ToString()
		var content []string
		switch {
		case err != nil:
		case kind == "string":
			var value string
			value, err = s.do("GET", key).ToString()
			content = []string{value}
		case kind == "list":
			content, err = s.do("LRANGE", key, "0", "-1").AsStrSlice()
		case kind == "set":
			content, err = s.do("SMEMBERS", key).AsStrSlice()
		case kind == "hash":
			var row map[string]string
			row, err = s.do("HGETALL", key).AsStrMap()
			for field := range row {
				content = append(content, field+"="+row[field])
			}
		case kind == "zset":
			var scores map[string]float64
			scores, err = s.scores(key)
			for member := range scores {
				content = append(content, member+"="+strconv.FormatFloat(scores[member], 'f', -1, 64))
			}
		}
		if err != nil || content == nil {
			s.tb.Fatalf("%s, a %s: %v", key, kind, err)
		}
		if kind != "list" {
			slices.Sort(content)
		}
		store[key] = append([]string{kind}, content...)
	}
	return store
}

func (s *Server) scores(key string) (map[string]float64, error) {
	members, err := s.do("ZRANGE", key, "0", "-1", "WITHSCORES").AsZScores()
	scores := map[string]float64{}
	for _, m := range members {
		scores[m.Member] = m.Score
	}
	return scores, err
}
