//go:build !unix

package homefs

import "os"

func openQuietly(local string) (*os.File, error) {
	return os.OpenFile(local, os.O_RDONLY, 0)
}
