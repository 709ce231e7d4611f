package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxOutput is how many bytes one batch may put out, over all edges: what fits into a message on every store.
const MaxOutput = 896 << 10

var errBatch = errors.New("the batch is damaged")

// AppendSegment adds a segment to the data of a message.
func AppendSegment(b, segment []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(segment))), segment...)
}

// SegmentsOf are the segments of a message. They share its memory.
func SegmentsOf(data []byte, n int) ([][]byte, error) {
	out := make([][]byte, 0, n)
	for len(data) > 0 {
		size, k := binary.Uvarint(data)
		if k <= 0 || size > uint64(len(data)-k) {
			return nil, fmt.Errorf("segment %d: %w", len(out), errBatch)
		}
		end := k + int(size) //nolint:gosec // at most the length of data
		out = append(out, data[k:end:end])
		data = data[end:]
	}
	return out, nil
}
