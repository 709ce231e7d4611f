package rota

import "encoding/json"

// Codec says how segments of a type are written.
type Codec[T any] interface {
	// Append adds the bytes of a segment to b.
	Append(b []byte, segment T) ([]byte, error)
	// Decode reads a segment. It may keep b, which nobody else has.
	Decode(b []byte) (T, error)
}

// jsonCodec is the codec of types that name no other.
type jsonCodec[T any] struct{}

func (jsonCodec[T]) Append(b []byte, segment T) ([]byte, error) {
	data, err := json.Marshal(segment)
	return append(b, data...), err
}

func (jsonCodec[T]) Decode(b []byte) (segment T, err error) {
	err = json.Unmarshal(b, &segment)
	return segment, err
}

// bytesCodec takes bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Append(b []byte, segment []byte) ([]byte, error) { return append(b, segment...), nil }
func (bytesCodec) Decode(b []byte) ([]byte, error)                 { return b, nil }

// codecOf is the codec that was given, or the usual one of the type.
func codecOf[T any](given Codec[T]) Codec[T] {
	if given != nil {
		return given
	}
	if c, ok := any(bytesCodec{}).(Codec[T]); ok {
		return c
	}
	return jsonCodec[T]{}
}
