package annotations

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxLinkedDevices is how many devices a node may have for its links to be listed.
const MaxLinkedDevices = 16

// Link is what two devices of a node have between them, in the words of `nvidia-smi topo -m`.
type Link struct {
	Path    string // one of Paths
	NVLinks uint8  // of NV only: how many bonded ones
}

// NV is the path through NVLinks; Paths are all of them, the farthest first.
const NV = "NV"

var Paths = []string{"SYS", "NODE", "PHB", "PXB", "PIX", NV}

// String is "PIX" or "NV12".
func (l Link) String() string {
	if l.Path == NV {
		return NV + strconv.Itoa(int(l.NVLinks))
	}
	return l.Path
}

func parseLink(text string) (Link, bool) {
	if count, nv := strings.CutPrefix(text, NV); nv {
		n, err := strconv.ParseUint(count, 10, 8)
		return Link{NV, uint8(n)}, err == nil && n > 0
	}
	return Link{Path: text}, slices.Contains(Paths, text)
}

// place reads where the device, number d of its node, is among the others.
func (t *deviceText) place(at string, d int, linked bool) ([]Link, *int16, *Error) {
	want := 0
	if linked {
		want = d
	}
	if len(t.Links) != want {
		return nil, nil, &Error{InventoryKey, at + ".links", fmt.Sprintf("%d links", len(t.Links)),
			fmt.Sprintf("%d: one to each device before it, of all devices or of none", want)}
	}
	var links []Link
	for i, text := range t.Links {
		link, known := parseLink(text)
		if !known {
			return nil, nil, &Error{InventoryKey, fmt.Sprintf("%s.links[%d]", at, i), shorten(text),
				`"SYS", "NODE", "PHB", "PXB", "PIX" or "NV1" and so on`}
		}
		links = append(links, link)
	}
	if t.NUMA == nil {
		return links, nil, nil
	}
	if err := checkRange(InventoryKey, at+".numa", t.NUMA, 0, math.MaxInt16); err != nil {
		return nil, nil, err
	}
	numa := int16(*t.NUMA)
	return links, &numa, nil
}
