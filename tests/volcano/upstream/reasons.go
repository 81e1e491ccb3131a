package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// readReasons reads why cases end otherwise than upstream expects, by title. The file is a list of
// {reason, cases}; each case has one reason.
func readReasons(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reasons, err := parseReasons(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return reasons, nil
}

func parseReasons(text []byte) (map[string]string, error) {
	var lists []struct {
		Reason string   `json:"reason"`
		Cases  []string `json:"cases"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&lists); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more than one list")
	}
	reasons := map[string]string{}
	for i, list := range lists {
		if list.Reason == "" {
			return nil, fmt.Errorf("[%d].reason: empty", i)
		}
		for _, title := range list.Cases {
			if reasons[title] != "" {
				return nil, fmt.Errorf("[%d].cases: %q has a reason already", i, title)
			}
			reasons[title] = list.Reason
		}
	}
	return reasons, nil
}
