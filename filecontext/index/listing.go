package index

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"

	"strata/filecontext"
)

// listingVersion is the version of stored file lists. A list of another version is ignored.
const listingVersion = 1

// digest is the SHA-256 of a file's bytes.
type digest [32]byte

// seen is the version of a file that was read last.
type seen struct {
	stamp filecontext.Stamp
	hash  digest
}

func parseDigest(text string) (d digest, ok bool) {
	n, err := hex.Decode(d[:], []byte(text))
	return d, err == nil && n == len(d)
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// encodeListing returns the stored form of the versions of the files that were read.
func encodeListing(files []*record) []byte {
	data := make([]byte, 4, 4+96*len(files))
	data = binary.AppendUvarint(data, listingVersion)
	for _, f := range files {
		if f.read {
			data = appendText(data, f.path)
			data = f.stamp.Append(data)
			data = append(data, f.hash[:]...)
		}
	}
	binary.LittleEndian.PutUint32(data, crc32.Checksum(data[4:], castagnoli()))
	return data
}

// decodeListing returns the versions by path, empty if data is damaged or of another version: all files are read again.
func decodeListing(data []byte) map[string]seen {
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != crc32.Checksum(data[4:], castagnoli()) {
		return nil
	}
	rest := data[4:]
	if version, n := binary.Uvarint(rest); n <= 0 || version != listingVersion {
		return nil
	} else {
		rest = rest[n:]
	}
	files := make(map[string]seen)
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return nil
		}
		path := string(rest[n : n+int(size)])
		stamp, after, ok := filecontext.CutStamp(rest[n+int(size):])
		if !ok || len(after) < len(digest{}) {
			return nil
		}
		files[path] = seen{stamp, digest(after)}
		rest = after[len(digest{}):]
	}
	return files
}
