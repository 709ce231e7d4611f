package cluster

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

func appendMember(dst []byte, m Member) []byte       { return fmt.Appendf(dst, "%+v", m) }
func appendJob(dst []byte, j Job) []byte             { return fmt.Appendf(dst, "%+v %+v", j, *j.Spec) }
func appendJobSpec(dst []byte, j JobSpec) []byte     { return fmt.Appendf(dst, "%+v", j) }
func appendPartition(dst []byte, p Partition) []byte { return fmt.Appendf(dst, "%+v", p) }
func hashBytes(kind byte, b []byte) Hash             { return Hash(xxhash.Sum64(append(b, kind))) }
func chain(prev Hash, i Index, data []byte) Hash {
	return Hash(xxhash.Sum64(fmt.Appendf(data, "%d %d", prev, i)))
}
func CheckCommand(c Command) error { return nil }
func (e Entry) Encode() []byte     { return fmt.Appendf(nil, "%+v", e) }
