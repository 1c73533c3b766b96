# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libimages.a
%C%_libimages_a_SOURCES = \
    %D%/blob_store.cpp \
    %D%/blob_store.hpp \
    %D%/bundle_input.cpp \
    %D%/bundle_input.hpp \
    %D%/bundle_layout.cpp \
    %D%/bundle_layout.hpp \
    %D%/bundle_manifest.cpp \
    %D%/bundle_manifest.hpp \
    %D%/bundle_reader.cpp \
    %D%/bundle_reader.hpp \
    %D%/bundle_writer.cpp \
    %D%/bundle_writer.hpp \
    %D%/bundle_spec.cpp \
    %D%/bundle_steps.cpp \
    %D%/bundle_steps.hpp \
    %D%/catalogue.cpp \
    %D%/catalogue.hpp \
    %D%/create.cpp \
    %D%/create.hpp \
    %D%/create_artifact.cpp \
    %D%/create_artifact.hpp \
    %D%/artifacts.cpp \
    %D%/artifacts.hpp \
    %D%/garbage.cpp \
    %D%/garbage.hpp \
    %D%/images_component.cpp \
    %D%/images_component.hpp \
    %D%/import.cpp \
    %D%/import.hpp \
    %D%/live_references.cpp \
    %D%/live_references.hpp \
    %D%/oci.cpp \
    %D%/oci.hpp \
    %D%/reference.cpp \
    %D%/reference.hpp \
    %D%/references.cpp \
    %D%/references.hpp \
    %D%/signed_manifest.cpp \
    %D%/signed_manifest.hpp \
    %D%/trust.cpp \
    %D%/trust.hpp
