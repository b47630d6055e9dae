package extract

import "os"

// Check refuses what Open would refuse without opening anything: inputs that
// are not there, and a warehouse or scratch that an input overlaps with. It is
// for use before the warehouse is made.
func Check(inputs []string, opt Options) error {
	for _, in := range inputs {
		if _, err := os.Stat(in); err != nil {
			return usage(in, err)
		}
	}
	return checkOverlap(inputs, opt)
}
