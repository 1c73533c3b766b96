# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/rpc
# The kubelet's messages, which protoc turns into classes: #include <kubelet/podresources.pb.h>. Warnings are
# off in them: they are not our code.
kubelet_protos = %D%/deviceplugin.proto %D%/pluginregistration.proto %D%/podresources.proto
kubelet_headers = $(kubelet_protos:.proto=.pb.h)
kubelet_cppflags = -isystem $(top_builddir)/daemon/rpc $(PROTOBUF_CFLAGS)
EXTRA_DIST += $(kubelet_protos)
BUILT_SOURCES += $(kubelet_headers)
CLEANFILES += $(kubelet_headers) $(kubelet_protos:.proto=.pb.cc)

noinst_LIBRARIES += %D%/libkubelet.a
%C%_libkubelet_a_CPPFLAGS = $(AM_CPPFLAGS) $(kubelet_cppflags)
%C%_libkubelet_a_SOURCES = %D%/codec.cpp %D%/codec.hpp %D%/pods.cpp %D%/pods.hpp
$(%C%_libkubelet_a_OBJECTS): | $(kubelet_headers)

noinst_LIBRARIES += %D%/libmessages.a
%C%_libmessages_a_CPPFLAGS = $(AM_CPPFLAGS) $(kubelet_cppflags)
%C%_libmessages_a_CXXFLAGS = $(AM_CXXFLAGS) -w
nodist_%C%_libmessages_a_SOURCES = $(kubelet_protos:.proto=.pb.cc)

# EL 9's protoc 3.14 has "optional" only with the option, which later ones ignore.
%D%/%.pb.cc %D%/%.pb.h: %D%/%.proto
	$(AM_V_GEN)$(MKDIR_P) %D% && $(PROTOC) --experimental_allow_proto3_optional --proto_path=$(srcdir)/daemon/rpc --cpp_out=daemon/rpc $<
