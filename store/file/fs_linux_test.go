package file

import (
	"strings"
	"testing"
)

func TestRefusedFileSystems(t *testing.T) {
	t.Parallel()
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xff534d42: "CIFS", 0x65735546: "FUSE"} {
		if err := refuseFS(magic); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%#x: %v, want a refusal that names %s", magic, err, name)
		}
	}
	for _, magic := range []uint32{0xef53, 0x01021994, 0x58465342, 0x9123683e} { // ext4, tmpfs, xfs, btrfs
		if err := refuseFS(magic); err != nil {
			t.Errorf("%#x: %v, want it taken", magic, err)
		}
	}
}
