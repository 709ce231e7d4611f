package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
)

// Read implements Journal. It goes from the newest hour to older ones, and stops when nothing older can match. If the
// query names a task, it decodes only documents that name the task.
func (j *Docs) Read(ctx context.Context, q Query) ([]Record, error) {
	s := search{q: q, mark: q.mark()}
	hours, all := q.hours(time.Now())
	for _, h := range hours {
		if s.over(h) {
			return s.answer(), nil
		}
		if err := s.list(ctx, j.docs, prefix+h+"/"); err != nil {
			return nil, err
		}
	}
	if !all || len(hours) > 0 && s.over(hours[len(hours)-1]) {
		return s.answer(), nil
	}
	s.listed = hours
	if err := s.list(ctx, j.docs, prefix); err != nil {
		return nil, err
	}
	return s.answer(), nil
}

// hours are those to list one by one, newest first, and whether a list of everything follows. The first is the next
// hour, in which a member whose clock is ahead may write. Few hours are enough for most queries that do not name a
// task.
func (q Query) hours(now time.Time) (out []string, all bool) {
	all = q.Since.IsZero() || now.Unix()/3600-q.Since.Unix()/3600 >= manyHours
	oldest := now.Add(-manyHours * time.Hour)
	switch {
	case all && q.Partition != "":
		return nil, true
	case !all:
		oldest = q.Since
	}
	if now.Before(oldest) {
		now = oldest
	}
	for t := now.Add(time.Hour); t.Unix()/3600 >= oldest.Unix()/3600; t = t.Add(-time.Hour) {
		out = append(out, hour(t))
	}
	return out, all
}

// mark is what a document holds that has a record of the partition, or of one whose name goes on; nil if all are asked
// for.
func (q Query) mark() []byte {
	if q.Partition == "" {
		return nil
	}
	name, err := json.Marshal(q.Partition)
	if err != nil {
		return nil
	}
	return append([]byte(`"partition":`), name[:len(name)-1]...)
}

// search collects the answer to a query.
type search struct {
	q      Query
	mark   []byte
	listed []string   // hours that were listed before, newest first
	found  [][]Record // that match, an hour each, newest hour first
}

func (s *search) list(ctx context.Context, from store.Docs, prefix string) error {
	docs, err := from.List(ctx, prefix)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	s.add(docs)
	return nil
}

// add looks through documents that are sorted by key, hour by hour, newest first.
func (s *search) add(docs []store.Doc) {
	for end := len(docs); end > 0; {
		begin, of := end-1, hourOf(docs[end-1])
		for begin > 0 && hourOf(docs[begin-1]) == of {
			begin--
		}
		if s.over(of) {
			return
		}
		if !slices.Contains(s.listed, of) {
			s.look(docs[begin:end])
		}
		end = begin
	}
}

func hourOf(d store.Doc) string {
	of, _, _ := strings.Cut(strings.TrimPrefix(d.Key, prefix), "/")
	return of
}

// look adds what matches in the documents of an hour.
func (s *search) look(docs []store.Doc) {
	var found []Record
	for _, d := range docs {
		if s.mark != nil && !bytes.Contains(d.Value, s.mark) {
			continue
		}
		for _, r := range decode(d) {
			if s.q.matches(r) {
				found = append(found, r)
			}
		}
	}
	if len(found) > 0 {
		s.found = append(s.found, found)
	}
}

// over reports whether no record in the documents of an hour, or of an earlier one, is in the answer. A document holds
// nothing newer than its hour.
func (s *search) over(hour string) bool {
	start, err := time.Parse(hourForm, hour)
	if err != nil {
		return false
	}
	if !s.q.Since.IsZero() && start.Unix()/3600 < s.q.Since.Unix()/3600 {
		return true
	}
	end, newer := start.Add(time.Hour).UnixMilli(), 0
	for _, records := range s.found {
		for _, r := range records {
			if r.AtMS >= end {
				newer++
			}
		}
	}
	return newer >= s.q.limit()
}

func (s *search) answer() []Record {
	slices.Reverse(s.found)
	return s.q.answer(slices.Concat(s.found...))
}

// usualLimit is how many records a query without a limit gets.
const usualLimit = 1000

func (q Query) matches(r Record) bool {
	if !q.Since.IsZero() && r.AtMS < q.Since.UnixMilli() {
		return false
	}
	if !q.Until.IsZero() && r.AtMS >= q.Until.UnixMilli() {
		return false
	}
	if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind) {
		return false
	}
	p := q.Partition
	return p == "" || r.Partition == p || strings.HasPrefix(r.Partition, p+"#") || strings.HasPrefix(r.Partition, p+"/")
}

// answer sorts the matching records by time and keeps the newest, oldest first. Records of one millisecond stay in the
// order given.
func (q Query) answer(all []Record) []Record {
	out := make([]Record, 0, len(all))
	for _, r := range all {
		if q.matches(r) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return cmp.Compare(a.AtMS, b.AtMS) })
	return out[max(0, len(out)-q.limit()):]
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return usualLimit
	}
	return q.Limit
}
