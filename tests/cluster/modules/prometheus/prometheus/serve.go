// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
)

// serve stores samples in the directory; returns only on an error.
func serve(path, address, directory string) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	loaded, err := config.LoadFile(path, false, logger)
	if err != nil {
		return err
	}
	store, err := tsdb.Open(directory, logger, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	options := scrape.Options{DiscoveryReloadInterval: model.Duration(time.Second), DiscoveryReloadOnStartup: true}
	manager, err := scrape.NewManager(&options, logger, nil, nil, store, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	if err := manager.ApplyConfig(loaded); err != nil {
		return err
	}
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- targetsOf(loaded)
	ended := make(chan error)
	go func() { ended <- manager.Run(targets) }()
	engine := promql.NewEngine(promql.EngineOpts{Logger: logger, MaxSamples: 1000000, Timeout: time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true})
	http.HandleFunc("/api/v1/query", func(out http.ResponseWriter, request *http.Request) {
		answer(out, request, engine, store)
	})
	go func() { ended <- http.ListenAndServe(address, nil) }()
	return <-ended
}

func targetsOf(loaded *config.Config) map[string][]*targetgroup.Group {
	found := map[string][]*targetgroup.Group{}
	for _, job := range loaded.ScrapeConfigs {
		for _, one := range job.ServiceDiscoveryConfigs {
			found[job.JobName] = append(found[job.JobName], one.(discovery.StaticConfig)...)
		}
	}
	return found
}

// answer writes the document of Prometheus' HTTP API.
func answer(out http.ResponseWriter, request *http.Request, engine *promql.Engine, store *tsdb.DB) {
	document := map[string]any{"status": "error"}
	query, err := engine.NewInstantQuery(context.Background(), store, nil, request.FormValue("query"), time.Now())
	if err == nil {
		defer query.Close()
		result := query.Exec(request.Context())
		err = result.Err
		document = map[string]any{"status": "success", "data": map[string]any{"resultType": "", "result": result.Value}}
		if result.Value != nil {
			document["data"].(map[string]any)["resultType"] = result.Value.Type()
		}
	}
	if err != nil {
		document = map[string]any{"status": "error", "error": err.Error()}
		out.WriteHeader(http.StatusBadRequest)
	}
	_ = json.NewEncoder(out).Encode(document)
}
