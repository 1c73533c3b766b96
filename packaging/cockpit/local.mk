# SPDX-License-Identifier: Apache-2.0
# The page for Cockpit, as its own package. Browsers load these files as they are.
cockpitdir = $(datadir)/cockpit/gpuhost
dist_cockpit_DATA = \
    %D%/actions.js \
    %D%/cards.js \
    %D%/channel.js \
    %D%/daemon.js \
    %D%/dialog.js \
    %D%/document.js \
    %D%/dom.js \
    %D%/errors.js \
    %D%/gpuhost.css \
    %D%/index.html \
    %D%/main.js \
    %D%/manifest.json \
    %D%/preflight.js \
    %D%/theme.js \
    %D%/verdict.js \
    %D%/view_driver.js \
    %D%/view_host.js \
    %D%/view_images.js \
    %D%/view_operation.js \
    %D%/view_plan.js \
    %D%/view_runtime.js \
    %D%/view_steps.js
