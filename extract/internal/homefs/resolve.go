package homefs

import (
	"errors"
	"path"
	"strings"
)

// maxLinks is how many links one path may lead through; Linux allows as many.
const maxLinks = 40

var (
	// ErrOutside says that a link leads out of the tree.
	ErrOutside = errors.New("link leads outside")
	// ErrLoop says that a path leads through too many links.
	ErrLoop = errors.New("too many links")
)

// Resolve follows every link on the way to name and returns the path without
// links. absolute turns an absolute link target into a path of the tree, or
// reports that it is none. An entry that does not exist is fs.ErrNotExist.
func Resolve(t Tree, name string, absolute func(target string) (string, bool)) (string, Info, error) {
	var done []string
	pending := Split(name)
	var info Info
	known := false // info is of done
	links := 0
	for len(pending) > 0 {
		part := pending[0]
		pending = pending[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", Info{}, ErrOutside
			}
			done, known = done[:len(done)-1], false
			continue
		}
		here := Join(Join(done...), part)
		var err error
		if info, err = t.Lstat(here); err != nil {
			return "", Info{}, err
		}
		if info.Kind != Link {
			done, known = append(done, part), true
			continue
		}
		known = false
		if links++; links > maxLinks {
			return "", Info{}, ErrLoop
		}
		target, err := t.Readlink(here)
		if err != nil {
			return "", Info{}, err
		}
		if IsAbsolute(target) {
			mapped, ok := absolute(target)
			if !ok {
				return "", Info{}, ErrOutside
			}
			target, done = mapped, done[:0:0]
		}
		pending = append(strings.Split(target, "/"), pending...)
	}
	name = Join(done...)
	if !known {
		var err error
		if info, err = t.Lstat(name); err != nil {
			return "", Info{}, err
		}
	}
	return name, info, nil
}

// IsAbsolute reports whether a path is absolute on any system: it starts with
// a slash, a backslash or a drive letter.
func IsAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || HasDrive(p)
}

// HasDrive reports whether a path starts with a drive letter and a colon.
func HasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && IsDrive(p[:1])
}

// IsDrive reports whether a component is a drive letter, as collectors write
// the C of C:\ as a directory.
func IsDrive(part string) bool {
	return len(part) == 1 && (part[0]|0x20) >= 'a' && (part[0]|0x20) <= 'z'
}

// maxName bounds the length of a member's name, in bytes: PATH_MAX of Linux.
const maxName = 4096

// Clean turns the name of an archive's member into a path of a tree. A leading
// slash or drive is dropped (the drive letter stays as a directory) and so are
// empty components and dots. It reports why a name is refused: it climbs with
// "..", it is empty, holds a NUL or is longer than 4,096 bytes.
func Clean(name string) (string, error) {
	switch {
	case len(name) > maxName:
		return "", errors.New("name is too long")
	case strings.IndexByte(name, 0) >= 0:
		return "", errors.New("name holds a NUL")
	}
	if HasDrive(name) {
		name = name[:1] + "/" + name[2:]
	}
	rest := name
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if part == ".." {
			return "", errors.New("a part of the name is \"..\" and climbs")
		}
	}
	p := strings.TrimLeft(path.Clean("/"+name), "/")
	if p == "" {
		if name == "" {
			return "", errors.New("name is empty")
		}
		return ".", nil
	}
	return p, nil
}
