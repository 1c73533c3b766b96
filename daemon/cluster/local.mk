# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcluster.a
%C%_libcluster_a_SOURCES = \
    %D%/credential_text.cpp \
    %D%/credential_text.hpp \
    %D%/credentials.cpp \
    %D%/credentials.hpp \
    %D%/endpoint.cpp \
    %D%/endpoint.hpp \
    %D%/kubeconfig.cpp \
    %D%/kubeconfig.hpp \
    %D%/kubeconfig_types.cpp \
    %D%/kubeconfig_types.hpp
