package publish

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Sample is measured data: points of one series. Its JSON is that of the source document coalesce:
// {"name":"host.load1","tags":{"member":"a"},"points":[[1795190400123,0.42]]}.
type Sample struct {
	Name   string            `json:"name"`
	Tags   map[string]string `json:"tags"`
	Points []Point           `json:"points"`
}

// Point is one measurement. Its JSON is [timestamp in ms, value]; a value that is not finite is null.
type Point struct {
	AtMS  int64 // milliseconds since 1970 by the clock of the member that measured
	Value float64
}

// MarshalJSON writes [ms, value].
func (p Point) MarshalJSON() ([]byte, error) {
	if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
		return fmt.Appendf(nil, "[%d,null]", p.AtMS), nil
	}
	v, err := json.Marshal(p.Value)
	return fmt.Appendf(nil, "[%d,%s]", p.AtMS, v), err
}

// UnmarshalJSON reads [ms, value].
func (p *Point) UnmarshalJSON(b []byte) error {
	var parts []*float64
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) != 2 || parts[0] == nil {
		return fmt.Errorf("point: want [ms, value], got %d parts", len(parts))
	}
	p.AtMS, p.Value = int64(*parts[0]), math.NaN()
	if parts[1] != nil {
		p.Value = *parts[1]
	}
	return nil
}

// Series names what the points of a sample belong to, in one form for each name and set of tags: name{"a"="1","b"="2"}.
// It is a key, as for partitions of a topic.
func (s Sample) Series() string {
	out := []byte(s.Name)
	out = append(out, '{')
	for i, k := range slices.Sorted(maps.Keys(s.Tags)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, k)
		out = append(out, '=')
		out = strconv.AppendQuote(out, s.Tags[k])
	}
	return string(append(out, '}'))
}

// appendLine writes s as one line of JSON: {"name":…,"tags":{…sorted…},"points":[[ms,value],…]}. Absent tags and points
// are empty, never null.
func appendLine(to *bytes.Buffer, s Sample) {
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
	if s.Points == nil {
		s.Points = []Point{}
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // texts and finite numbers cannot fail
}

// Line is the sample as one line of JSON, as [Writer] writes it, without the newline. There is no error.
func (s Sample) Line() ([]byte, error) {
	var buf bytes.Buffer
	appendLine(&buf, s)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
