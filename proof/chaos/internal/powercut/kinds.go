package powercut

// kind is a kind of file system.
type kind struct {
	name    string
	fs      string
	mkfs    []string
	size    int64  // of the image, in bytes; it is sparse
	options string // of mount, each with a comma before it
}

// kinds are those that have the ioctl. The long commit interval keeps ext4 from saving by chance what nobody synced.
func kinds() []kind {
	ext4 := []string{"mkfs.ext4", "-q", "-F"}
	return []kind{
		{"ext4", "ext4", ext4, 128 << 20, ",commit=300"},
		{"ext4-writeback", "ext4", ext4, 128 << 20, ",commit=300,data=writeback"},
		{"xfs", "xfs", []string{"mkfs.xfs", "-q", "-f"}, 320 << 20, ""},
	}
}
