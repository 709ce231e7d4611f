package cluster

type FormatError struct {
	Index  Index
	Format uint32
}

func (*FormatError) Error() string { return "" }

type CorruptError struct {
	Index  Index
	Reason string
}

func (*CorruptError) Error() string { return "" }

type decoder struct {
	data []byte
	off  int
	err  error
}

func (d *decoder) uvarint() uint64                              { return 0 }
func (d *decoder) count() int                                   { return 0 }
func (d *decoder) fail(s string)                                {}
func appendUvarint(b []byte, u uint64) []byte                   { return b }
func appendSettings(b []byte, s Settings) []byte                { return append(b, byte(s.Format)) }
func appendWriter(b []byte, id WriterID, w writerRecord) []byte { return append(b, id...) }
func decodeSettings(r *decoder) Settings                        { return Settings{} }
func decodeMember(r *decoder) Member                            { return Member{} }
func decodeJob(r *decoder) Job                                  { return Job{} }
func decodePartition(r *decoder) Partition                      { return Partition{} }
func decodeWriter(r *decoder) (WriterID, writerRecord)          { return "", writerRecord{} }
func (h Hash) String() string                                   { return "" }
func DecodeEntry(i Index, b []byte) (Entry, error)              { return Entry{}, nil }
