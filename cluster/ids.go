package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// MemberID is the stable name of a member: 1–128 characters of [A-Za-z0-9._-], not starting with '.' or '-'.
// A process that restarts keeps its MemberID and gets a new [Incarnation].
type MemberID string

// JobID names a job within its cluster; same alphabet as [MemberID].
// IDs that begin with "rota." are reserved for jobs that Rota submits itself (sources).
type JobID string

// WriterID names one start of one process that appends to the log. Two processes must never use the same one:
// the writer chooses it at random, outside this package.
type WriterID string

// Index is the position of an entry in the log. It grows strictly; it need not be dense. Zero is before the first entry.
type Index uint64

// Incarnation is the index of the entry that prepared this start of a member. Zero is no incarnation.
type Incarnation = Index

// Token is a fencing token: it grows with every new owner of a partition. It is the index of the entry that
// granted the partition. Zero is no token.
type Token = Index

// PartitionID names a partition: "job", "job/task", "job#key" or "job/task#key". The task is omitted if the job
// has one unnamed task, the key if the spread is single. The key is everything after the first '#'.
type PartitionID string

// NewPartitionID joins the parts; task and key may be empty.
func NewPartitionID(job JobID, task, key string) PartitionID {
	s := string(job)
	if task != "" {
		s += "/" + task
	}
	if key != "" {
		s += "#" + key
	}
	return PartitionID(s)
}

// Reserved tells the partitions of jobs that Rota submits itself.
func (p PartitionID) Reserved() bool { return strings.HasPrefix(string(p), "rota.") }

// Split returns the parts that [NewPartitionID] joined.
func (p PartitionID) Split() (job JobID, task, key string) {
	s, key, _ := strings.Cut(string(p), "#")
	j, task, _ := strings.Cut(s, "/")
	return JobID(j), task, key
}

// maxName bounds names; maxKey bounds keys of partitions.
const (
	maxName = 128
	maxKey  = 1024
)

// CheckName reports why s cannot be a member, job or task name, or nil.
func CheckName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("the name is empty")
	case len(s) > maxName:
		return fmt.Errorf("the name %.20q… has %d characters, at most %d are allowed", s, len(s), maxName)
	case s[0] == '.' || s[0] == '-':
		return fmt.Errorf("the name %q begins with %q", s, s[0])
	}
	for _, r := range s {
		switch {
		case r > 0x7f:
			return fmt.Errorf("the name %q has %q; letters, digits, '.', '_' and '-' of ASCII are allowed", s, r)
		case !nameByte(byte(r)):
			return fmt.Errorf("the name %q has %q; letters, digits, '.', '_' and '-' are allowed", s, r)
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// CheckKey reports why s cannot be the key of a partition, or nil. Keys are printable ASCII or UTF-8 without control characters.
func CheckKey(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("the key is empty")
	case len(s) > maxKey:
		return fmt.Errorf("the key %.20q… has %d bytes, at most %d are allowed", s, len(s), maxKey)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return fmt.Errorf("the key %q has a control character or is not UTF-8", s)
		}
	}
	return nil
}

// String returns the index in decimal.
func (i Index) String() string { return strconv.FormatUint(uint64(i), 10) }
