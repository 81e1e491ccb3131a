package annotations

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestProfilesAreThoseOfTheEngineInItsOrder(t *testing.T) {
	source, err := os.ReadFile("../../../topology/mig_models.cc")
	if err != nil {
		t.Fatal(err)
	}
	engine := map[string][]string{}
	model := ""
	for _, row := range regexp.MustCompile(`\{"([^"]+)",\s*\d+,\s*\d+,\s*(\{|k)`).FindAllStringSubmatch(string(source), -1) {
		if row[2] == "{" {
			model = row[1]
			continue
		}
		engine[model] = append(engine[model], row[1])
	}
	if len(engine) != len(migModels) || len(engine) < 13 {
		t.Errorf("%d models, the engine has %d", len(migModels), len(engine))
	}
	for model, profiles := range engine {
		if !slices.Equal(profiles, migModels[model]) {
			t.Errorf("%s: %v, the engine has %v", model, migModels[model], profiles)
		}
	}
}

func TestResourcesNameProfiles(t *testing.T) {
	for resource, want := range map[string]string{
		"nvidia.com/mig-1g.10gb":        "1g.10gb",
		"nvidia.com/mig-1g.10gb.me":     "1g.10gb+me",
		"nvidia.com/mig-1g.24gb.me.all": "1g.24gb+me.all",
		"nvidia.com/mig-1g.24gb-me":     "1g.24gb-me",
		"nvidia.com/mig-1g.7gb":         "",
		"nvidia.com/gpu":                "",
	} {
		if got := MIGProfileOf(resource); got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
	}
}
