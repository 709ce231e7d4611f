package cluster

import "fmt"

// recordMagic begins every record that is kept alone; the format and the kind follow.
const recordMagic = 0xA8

// A record that is kept alone, in a document: magic, format, kind, and what a snapshot has of it.
func appendRecord[T any](kind byte, put func([]byte, T) []byte, x T) []byte {
	return put([]byte{recordMagic, byte(Format), kind}, x)
}

// decodeRecord reads one. Its error is a *FormatError where it is of another format, else a *CorruptError.
func decodeRecord[T any](kind byte, data []byte, get func(*decoder) T) (x T, err error) {
	if len(data) < 3 || data[0] != recordMagic {
		return x, &CorruptError{Reason: "it is not a record"}
	}
	if uint32(data[1]) != Format {
		return x, &FormatError{Format: uint32(data[1])}
	}
	if data[2] != kind {
		return x, &CorruptError{Offset: 2, Reason: fmt.Sprintf("it is a record of kind %d, not %d", data[2], kind)}
	}
	r := &decoder{data: data, off: 3}
	got := get(r)
	if r.err == nil && r.off != len(data) {
		r.fail("bytes after its end")
	}
	if r.err != nil {
		return x, r.err
	}
	return got, nil
}

// Encode returns the record alone, for [DecodeMember].
func (m Member) Encode() []byte { return appendRecord(kindMember, appendMember, m) }

// DecodeMember reads the output of Member.Encode. Its error is a *FormatError if it is of another format, else a *CorruptError.
func DecodeMember(data []byte) (Member, error) { return decodeRecord(kindMember, data, decodeMember) }

// Encode returns the record alone, for [DecodeJob].
func (j Job) Encode() []byte { return appendRecord(kindJob, appendJob, j) }

// DecodeJob reads the output of Job.Encode. Its errors are those of [DecodeMember].
func DecodeJob(data []byte) (Job, error) { return decodeRecord(kindJob, data, decodeJob) }

// Encode returns the record alone, for [DecodePartition].
func (p Partition) Encode() []byte { return appendRecord(kindPartition, appendPartition, p) }

// DecodePartition reads the output of Partition.Encode. Its errors are those of [DecodeMember].
func DecodePartition(data []byte) (Partition, error) {
	return decodeRecord(kindPartition, data, decodePartition)
}

// Encode returns the settings alone, for [DecodeSettings].
func (s Settings) Encode() []byte { return appendRecord(kindSettings, appendSettings, s) }

// DecodeSettings reads the output of Settings.Encode. Its errors are those of [DecodeMember].
func DecodeSettings(data []byte) (Settings, error) {
	return decodeRecord(kindSettings, data, decodeSettings)
}

// EncodeCommand returns a command alone, for [DecodeCommand].
func EncodeCommand(c Command) []byte { return appendRecord(kindCommand, appendCommand, c) }

// DecodeCommand reads the output of EncodeCommand. Its errors are those of [DecodeMember].
func DecodeCommand(data []byte) (Command, error) {
	return decodeRecord(kindCommand, data, decodeCommand)
}
