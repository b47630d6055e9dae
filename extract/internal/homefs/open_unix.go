//go:build unix && !linux

package homefs

import (
	"os"
	"syscall"
)

func openQuietly(local string) (*os.File, error) {
	return os.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
