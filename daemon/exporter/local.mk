# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client
noinst_LIBRARIES += %D%/libexporter.a
%C%_libexporter_a_SOURCES = \
    %D%/add_metrics.hpp \
    %D%/component_metrics.cpp \
    %D%/driver_metrics.cpp \
    %D%/metrics.cpp \
    %D%/metrics.hpp \
    %D%/operation_metrics.cpp \
    %D%/query.cpp \
    %D%/query.hpp \
    %D%/textfile.cpp \
    %D%/textfile.hpp
