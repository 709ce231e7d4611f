package file

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// remote are file systems on which flock or shared maps may not hold between machines, by the magic number that statfs
// gives.
// read-only: a table of the kernel's constants.
var remote = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xfe534d42: "SMB", 0xff534d42: "CIFS", 0x01021997: "9p",
	0x65735546: "FUSE (sshfs, virtiofs, …)",
	0x5346414f: "AFS", 0x6b414653: "AFS", 0x73757245: "Coda", 0x00c36400: "Ceph", 0x564c: "NCP", 0x7461636f: "OCFS2",
	0x01161970: "GFS2",
	0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x786f4256: "VirtualBox shared folders",
}

// checkFS refuses file systems that machines share.
func checkFS(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("statfs %s: %w", dir, err)
	}
	return refuseFS(uint32(s.Type))
}

// takesNoWrites reports whether the file system is mounted read-only.
func takesNoWrites(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.ST_RDONLY != 0
}

func refuseFS(magic uint32) error {
	name, found := remote[magic]
	if !found {
		return nil
	}
	return fmt.Errorf("the directory is on %s, whose locks do not hold: give a directory on a local disk, or for more than one machine another kind of store", name)
}
