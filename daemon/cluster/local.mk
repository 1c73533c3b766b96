# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcluster.a
%C%_libcluster_a_SOURCES = \
    %D%/api.cpp \
    %D%/api.hpp \
    %D%/backoff.hpp \
    %D%/cluster_settings.cpp \
    %D%/cluster_settings.hpp \
    %D%/credential_text.cpp \
    %D%/credential_text.hpp \
    %D%/credentials.cpp \
    %D%/credentials.hpp \
    %D%/endpoint.cpp \
    %D%/endpoint.hpp \
    %D%/enrolment.cpp \
    %D%/enrolment.hpp \
    %D%/event_lines.cpp \
    %D%/event_lines.hpp \
    %D%/host_agent.cpp \
    %D%/host_agent.hpp \
    %D%/kubeconfig.cpp \
    %D%/kubeconfig.hpp \
    %D%/kubeconfig_types.cpp \
    %D%/kubeconfig_types.hpp \
    %D%/node_change.cpp \
    %D%/node_change.hpp \
    %D%/paths.hpp \
    %D%/readiness.cpp \
    %D%/readiness.hpp \
    %D%/watch.cpp \
    %D%/watch.hpp
