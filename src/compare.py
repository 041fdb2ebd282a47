from unrolled.commands.compare import main

if __name__ == "__main__":
    main()
