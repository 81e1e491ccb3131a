package whole

import "slices"

// Shrink finds a smaller part of the faults that still breaks the law, by leaving out ever smaller runs of them.
func Shrink(options Options, breaks func(Options) bool) Options {
	for size := max(len(options.Faults)/2, 1); ; size /= 2 {
		for at := 0; at < len(options.Faults); {
			less := options
			less.Faults = slices.Delete(slices.Clone(options.Faults), at, min(at+size, len(options.Faults)))
			if breaks(less) {
				options = less
			} else {
				at += size
			}
		}
		if size <= 1 {
			return options
		}
	}
}
