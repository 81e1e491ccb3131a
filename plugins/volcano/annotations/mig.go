package annotations

import (
	"maps"
	"slices"
	"strings"
)

// migModels are the profiles of each model that MIG cuts, in the engine's order (topology/mig_models.cc): by
// its place there a slice names its profile on the wire. A test compares the two.
var migModels = map[string][]string{
	"A100-40GB":         {"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"},
	"A100-80GB":         {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
	"A30-24GB":          {"1g.6gb", "1g.6gb+me", "2g.12gb", "2g.12gb+me", "4g.24gb"},
	"H100-80GB":         {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
	"H100-NVL-94GB":     {"1g.12gb", "1g.12gb+me", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"},
	"H100-96GB":         {"1g.12gb", "1g.12gb+me", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"},
	"H200-141GB":        {"1g.18gb", "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"},
	"GH200-144GB":       {"1g.18gb", "1g.18gb+me", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb"},
	"B200-180GB":        {"1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"},
	"GB200-186GB":       {"1g.23gb", "1g.23gb+me", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"},
	"B300-269GB":        {"1g.34gb", "1g.34gb+me", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb"},
	"GB300":             {"1g.35gb", "1g.35gb+me", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb", "7g.278gb"},
	"RTX-PRO-6000-96GB": {"1g.24gb", "1g.24gb+me", "1g.24gb+gfx", "1g.24gb+me.all", "1g.24gb-me", "2g.48gb", "2g.48gb+gfx", "2g.48gb+me.all", "2g.48gb-me", "4g.96gb", "4g.96gb+gfx"},
}

// MIGProfile is the name of the model's profile of that number; empty: it has none.
func MIGProfile(model string, number int) string {
	if profiles := migModels[model]; number >= 0 && number < len(profiles) {
		return profiles[number]
	}
	return ""
}

// MIGProfileNumber is its place among those of the model, -1 if the model has none of that name.
func MIGProfileNumber(model, profile string) int { return slices.Index(migModels[model], profile) }

// KnownMIGProfile: some model has it.
func KnownMIGProfile(profile string) bool {
	for model := range migModels {
		if MIGProfileNumber(model, profile) >= 0 {
			return true
		}
	}
	return false
}

// MIGResources are the resources that count instances of a known profile, in order.
func MIGResources() []string {
	names := map[string]bool{}
	for _, profiles := range migModels {
		for _, profile := range profiles {
			names[migPrefix+strings.ReplaceAll(profile, "+", ".")] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

const migPrefix = "nvidia.com/mig-"

// MIGProfileOf is the profile that a resource such as nvidia.com/mig-1g.10gb.me counts; empty: none.
// A resource's name has no "+": NVIDIA's device plugin writes a dot for it.
func MIGProfileOf(resource string) string {
	name, is := strings.CutPrefix(resource, migPrefix)
	if !is {
		return ""
	}
	if at := strings.Index(name, "gb."); at >= 0 {
		name = name[:at+2] + "+" + name[at+3:]
	}
	if !KnownMIGProfile(name) {
		return ""
	}
	return name
}
