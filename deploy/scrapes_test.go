//go:build !quick

package deploy_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// sample is a value of a series.
type sample struct {
	labels labels.Labels
	value  float64
}

// change is another value for the series that a selector finds.
type change struct {
	of string
	to float64
}

// scrapes are what members show, every 15 s for an hour: the same values, and in the last one those that have changed.
type scrapes struct {
	at      time.Time
	samples []sample
	last    map[uint64]float64 // by the hash of the labels
}

const (
	interval = 15 * time.Second
	span     = time.Hour
)

// changed is the same with changes in the last minute. No change stands for another version of the first member.
func (s *scrapes) changed(t *testing.T, changes []change) *scrapes {
	t.Helper()
	out := &scrapes{at: s.at, samples: append([]sample(nil), s.samples...), last: map[uint64]float64{}}
	for _, c := range changes {
		found := 0
		for _, x := range out.samples {
			if matches(x.labels, selector(t, c.of)) {
				out.last[x.labels.Hash()] = c.to
				found++
			}
		}
		if found == 0 {
			t.Errorf("there is no %s", c.of)
		}
	}
	for i, x := range out.samples {
		if len(changes) == 0 && x.labels.Get("__name__") == "rota_build_info" && x.labels.Get("rota_member") == "a" {
			out.samples[i].labels = labels.NewBuilder(x.labels).Set("version", "0.0.1").Labels()
		}
	}
	return out
}

func selector(t *testing.T, text string) []*labels.Matcher {
	t.Helper()
	m, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func matches(set labels.Labels, all []*labels.Matcher) bool {
	for _, m := range all {
		if !m.Matches(set.Get(m.Name)) {
			return false
		}
	}
	return true
}

// has tells whether a series that a selector finds is at least so large.
func has(samples []sample, text string, least float64) bool {
	all, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	if err != nil {
		return false
	}
	for _, x := range samples {
		if matches(x.labels, all) && x.value >= least {
			return true
		}
	}
	return false
}

// ask evaluates a query now.
func (s *scrapes) ask(t *testing.T, query string) promql.Vector {
	t.Helper()
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: patience, LookbackDelta: 5 * time.Minute,
		Parser: parser.NewParser(parser.Options{})})
	defer e.Close()
	q, err := e.NewInstantQuery(context.Background(),
		storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) { return &querier{s, mint, maxt}, nil }),
		nil, query, s.at)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	v, err := q.Exec(context.Background()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return append(promql.Vector(nil), v...)
}

// querier reads scrapes.
type querier struct {
	s          *scrapes
	mint, maxt int64
}

func (*querier) LabelValues(context.Context, string, *storage.LabelHints,
	...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) LabelNames(context.Context, *storage.LabelHints,
	...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) Close() error { return nil }

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, all ...*labels.Matcher) storage.SeriesSet {
	out := &found{next: -1}
	for _, x := range q.s.samples {
		if !matches(x.labels, all) {
			continue
		}
		var points []chunks.Sample
		for at := q.s.at.Add(-span); !at.After(q.s.at); at = at.Add(interval) {
			value := x.value
			if to, ok := q.s.last[x.labels.Hash()]; ok && at.After(q.s.at.Add(-time.Minute)) {
				value = to
			}
			if ms := at.UnixMilli(); ms >= q.mint && ms <= q.maxt {
				points = append(points, point{ms, value})
			}
		}
		out.series = append(out.series, storage.NewListSeries(x.labels, points))
	}
	return out
}

// found is a list of series.
type found struct {
	series []storage.Series
	next   int
}

func (f *found) Next() bool                        { f.next++; return f.next < len(f.series) }
func (f *found) At() storage.Series                { return f.series[f.next] }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

// point is a value at a time.
type point struct {
	t int64
	v float64
}

func (p point) T() int64                    { return p.t }
func (point) ST() int64                     { return 0 }
func (p point) F() float64                  { return p.v }
func (point) H() *histogram.Histogram       { return nil }
func (point) FH() *histogram.FloatHistogram { return nil }
func (point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample         { return p }
